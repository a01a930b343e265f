job "übung-日本" {
  name = "Übung \"eins\" \\ zwei"

  meta {
    tab       = "a\tb"
    newline   = "a\nb"
    return    = "a\rb"
    umlaut    = "\u00e9t\u00E9"
    rocket    = "\U0001F680 go"
    raw       = "naïve 🚀 ☃"
    größe     = "groß"
    backslash = "C:\\dir\\file"
    empty     = ""
    slash     = "a/b"
    quote     = "she said \"no\""
  }

  group "g" {
    task "t" {
      driver = "mock"

      config {
        motd = "¡hola!"
      }
    }
  }
}
