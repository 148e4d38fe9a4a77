"""Chromium without a window, told what to do over a pipe by its DevTools protocol."""
import base64, json, os, queue, shlex, subprocess, threading, time

PATIENCE = 60


class Chromium:
    """A browser with one page. `requests` and `errors` are what the page asked for and what went wrong."""

    def __init__(self, program, folder):
        commands, own_end = os.pipe()
        answers, its_end = os.pipe()
        options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
                   "--disable-dev-shm-usage", "--remote-debugging-pipe", f"--user-data-dir={folder}", "about:blank"]
        line = f"exec {shlex.join([str(program), *options])} 3<&{commands} 4>&{its_end}"
        self.process = subprocess.Popen(["sh", "-c", line], pass_fds=(commands, its_end), stderr=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL)
        os.close(commands), os.close(its_end)
        self.pipe, self.answers = own_end, os.fdopen(answers, "rb")
        self.last, self.replies, self.news = 0, {}, threading.Condition()
        self.requests, self.errors, self.is_over = [], [], False
        threading.Thread(target=self.listen, daemon=True).start()
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ["Page", "Runtime", "Network", "Log", "Accessibility", "DOM"]:
            self.call(f"{domain}.enable")

    def listen(self):
        rest = b""
        while some := self.answers.read1(1 << 16):
            *messages, rest = (rest + some).split(b"\0")
            for message in map(json.loads, messages):
                self.note(message)
        with self.news:
            self.is_over = True
            self.news.notify_all()

    def note(self, message):
        with self.news:
            what = message.get("params", {})
            match message.get("method"):
                case None:
                    self.replies[message["id"]] = message
                case "Network.requestWillBeSent":
                    self.requests.append(what["request"]["url"])
                case "Runtime.exceptionThrown":
                    self.errors.append(what["exceptionDetails"].get("exception", {}).get("description") or str(what))
                case "Log.entryAdded":
                    self.errors.append(f"{what['entry']['text']} {what['entry'].get('url', '')}")
            self.news.notify_all()

    def call(self, method, **params):
        with self.news:
            self.last += 1
            number = self.last
        message = {"id": number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.pipe, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + PATIENCE
        with self.news:
            while number not in self.replies:
                if self.is_over or time.monotonic() > deadline:
                    raise RuntimeError(f"Chromium does not answer {method}")
                self.news.wait(1)
            reply = self.replies.pop(number)
        if "error" in reply:
            raise RuntimeError(f"{method}: {reply['error']}")
        return reply["result"]

    def run(self, script):
        """The value of an expression on the page."""
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{script}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def until(self, script, what):
        """Its value once it is one; an element is `true`."""
        script = f"Promise.resolve({script}).then((value) => typeof value === 'object' ? value !== null : value)"
        deadline = time.monotonic() + PATIENCE
        while not (value := self.run(script)):
            if time.monotonic() > deadline:
                raise RuntimeError(f"{what} did not come about on the page")
            time.sleep(0.05)
        return value

    def go(self, url):
        # A mark that is gone when another page is there.
        self.run("window.isBefore = true")
        self.call("Page.navigate", url=url)
        self.until("!window.isBefore && document.readyState === 'complete'", url)

    def look(self, width=1280, height=900, dark=False):
        """How it is shown from now on."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def picture(self, file):
        """The whole page."""
        image = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        file.write_bytes(base64.b64decode(image["data"]))

    def key(self, name, code, text=""):
        for kind in ["keyDown", "keyUp"]:
            self.call("Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode=code,
                      **({"text": text} if text and kind == "keyDown" else {}))

    def tab(self):
        self.key("Tab", 9)

    def enter(self):
        self.key("Enter", 13, "\r")

    def type(self, text):
        self.call("Input.insertText", text=text)

    def names(self):
        """Role and name of all that a screen reader finds."""
        nodes = self.call("Accessibility.getFullAXTree")["nodes"]
        value = lambda node, key: node.get(key, {}).get("value", "")
        return [(value(node, "role"), value(node, "name")) for node in nodes if not node.get("ignored")]

    def close(self):
        try:
            self.session = None
            self.call("Browser.close")
        except (RuntimeError, OSError):
            self.process.kill()
        self.process.wait()
