job "billing" {
  id          = "billing-eu"
  name        = "Billing (EU)"
  region      = "eu"
  namespace   = "finance"
  node_pool   = "secure"
  type        = "service"
  priority    = "85"
  all_at_once = "true"
  datacenters = ["eu-*", "fra1"]

  ui {
    description = "Invoices and reminders. **On call:** billing"

    link {
      label = "Runbook"
      url   = "https://wiki.example/runbooks/billing"
    }

    link {
      label = "Dashboard"
      url   = "https://graphs.example/d/billing"
    }
  }

  group "billing" {
    task "billing" {
      driver = "java"

      config {
        jar_path    = "local/billing.jar"
        jvm_options = ["-Xmx512m", "-Xms256m"]
      }
    }
  }
}
