for (const block of document.querySelectorAll("pre.command")) {
  const button = document.createElement("button");
  button.textContent = "Copy";
  button.setAttribute("aria-label", "Copy the command " + block.textContent);
  button.onclick = () => navigator.clipboard.writeText(block.textContent)
    .then(() => { button.textContent = "Copied"; }, () => { button.textContent = "Select it"; });
  block.after(button);
}
