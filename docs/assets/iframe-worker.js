// A page that was opened from a folder may not start a Worker. There, the search runs in a hidden frame
// that looks like one: it receives what is posted to it, and posts its answers to the page.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.documentElement.append(frame);
      this.frame = frame;
      window.addEventListener("message", (event) => {
        if (event.source === frame.contentWindow) this.answer(event.data);
      });
      this.ready = new Promise((loaded) => {
        const page = frame.contentDocument;
        page.open();
        page.write("<script>postMessage = (data) => parent.postMessage(data, '*')</script>");
        const script = page.createElement("script");
        script.src = new URL(url, location.href).href;
        script.onload = loaded;
        page.head.append(script);
        page.close();
      });
    }

    answer(data) {
      const event = new MessageEvent("message", { data });
      this.dispatchEvent(event);
      if (this.onmessage) this.onmessage(event);
    }

    postMessage(data) {
      this.ready.then(() => {
        const inside = this.frame.contentWindow;
        inside.dispatchEvent(new inside.MessageEvent("message", { data }));
      });
    }

    terminate() {
      this.frame.remove();
    }
  };
}
