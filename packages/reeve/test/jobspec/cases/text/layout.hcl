job layout {
  type="batch"
  datacenters=["a",
    "b"
    ,"c",
  ]


  group "g" {
  count=2
      task "t" {
driver = "mock"
            env = { A = 1
              B = 2, C = "3"
              "D E" : true
            }
        config { }
        resources { cpu = 20 }
      }
    network {
      port http {}
      port "db" { static = 5432 }
      port "x-y_z" { to = 1 }
    }
  }
}
