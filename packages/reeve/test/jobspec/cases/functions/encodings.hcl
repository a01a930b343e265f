job "encodings" {
  group "g" {
    task "t" {
      driver = "mock"

      config {
        base64      = base64encode("user:secret")
        decoded     = base64decode("aGVsbG8=")
        json        = jsonencode({ name = "web", ports = [80, 443], on = true, none = null })
        from_json   = jsondecode("{\"a\": [1, {\"b\": \"c\"}]}").a[1].b
        csv         = [for row in csvdecode("name,port\nweb,80\ndb,5432\n") : "${row.name}:${row.port}"]
        url         = urlencode("a b&c=d")
        yaml        = yamldecode("name: web\nports: [80, 443]\n").ports[1]
        md5         = md5("reeve")
        sha1        = sha1("reeve")
        sha256      = sha256("reeve")
        uuid        = uuidv5("dns", "www.example.com")
        date        = formatdate("YYYY-MM-DD hh:mm:ss", "2024-03-05T10:20:30Z")
        later       = timeadd("2024-03-05T10:20:30Z", "36h")
      }

      template {
        destination = "local/config.json"
        data        = jsonencode({ listen = ":8080", upstreams = ["a", "b"] })
      }
    }
  }
}
