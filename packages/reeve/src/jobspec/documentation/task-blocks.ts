import type { BlockDocumentation, BlockExample } from './job-blocks.ts'

/** The task of most examples; the block of the example follows. */
export const PLAIN_TASK = `driver = "raw_exec"
config {
  command = "/bin/sleep"
  args    = ["600"]
}`

function inTask(text: string): BlockExample {
  return { task: `${PLAIN_TASK}\n${text}` }
}

export const TASK_BLOCKS: Readonly<Record<string, BlockDocumentation>> = {
  config: {
    purpose:
      'Settings of the driver, listed by driver on the page of the [drivers](../drivers.md).',
    example: { task: PLAIN_TASK },
  },
  resources: {
    purpose: 'Resources that a task requires; the scheduler reserves them on the node.',
    example: inTask('resources {\n  cpu    = 200\n  memory = 128\n}'),
  },
  device: {
    purpose:
      'Devices for the task. The label is `type`, `vendor/type` or `vendor/type/model`; a node must ' +
      'report such a device.',
    example: inTask('resources {\n  device "nvidia/gpu" {\n    count = 1\n  }\n}'),
  },
  numa: {
    purpose: 'Placement on NUMA nodes. Nodes do not report their topology.',
    example: inTask('resources {\n  cores = 1\n  numa {\n    affinity = "none"\n  }\n}'),
  },
  lifecycle: {
    purpose: 'Makes the task a helper that runs before, beside or after the main tasks.',
    example: {
      group: `task "migrate-database" {
  lifecycle {
    hook = "prestart"
  }
  driver = "raw_exec"
  config {
    command = "/bin/echo"
    args    = ["schema is up to date"]
  }
}`,
    },
  },
  logs: {
    purpose: 'How much output of the task is kept on the node.',
    example: inTask('logs {\n  max_files     = 3\n  max_file_size = 5\n}'),
  },
  artifact: {
    purpose:
      'Fetches a file, archive or repository before the task starts: ' +
      '[artifacts](../artifacts.md).',
    example: inTask(`artifact {
  source      = "https://example.com/shop-1.4.tar.gz"
  destination = "local/shop"
}`),
  },
  template: {
    purpose:
      'Renders a file or environment variables from services, variables and node data, and again ' +
      'when they change: [templates](../templates.md).',
    example: inTask(`template {
  destination = "local/app.conf"
  data        = "datacenter = {{ env \\"REEVE_DC\\" }}\\n"
  change_mode = "restart"
}`),
  },
  change_script: {
    purpose: 'The program that `change_mode = "script"` runs in the task.',
    example: inTask(`template {
  destination = "local/app.conf"
  data        = "{{ env \\"REEVE_DC\\" }}"
  change_mode = "script"
  change_script {
    command = "/usr/local/bin/reload"
    timeout = "20s"
  }
}`),
  },
  wait: {
    purpose: 'Delays rendering until the data of a template are stable.',
    example: inTask(`template {
  destination = "local/peers.conf"
  data        = "{{ range service \\"shop\\" }}{{ .Address }}:{{ .Port }} {{ end }}"
  wait {
    min = "2s"
    max = "10s"
  }
}`),
  },
  dispatch_payload: {
    purpose: 'Where the payload of a dispatched job is written.',
    example: {
      job: 'type = "batch"\nparameterized {\n  payload = "required"\n}',
      task: `driver = "raw_exec"
config {
  command = "/bin/cat"
  args    = ["local/input.csv"]
}
dispatch_payload {
  file = "input.csv"
}`,
    },
  },
  action: {
    purpose:
      'A named command that authorized users run in the task with `reeve job action`. The label is ' +
      'its name: 1 to 128 characters without spaces.',
    example: inTask('action "flush-cache" {\n  command = "/bin/echo"\n  args    = ["flushed"]\n}'),
  },
  schedule: {
    purpose:
      'Runs the task only inside a time window. Outside of it the task is paused; its resources stay ' +
      'reserved.',
    notes: [
      'At the end of the window the task is stopped with its `kill_signal` and `kill_timeout`. The ' +
        'node decides by itself, also while no server is reachable. `reeve alloc pause` overrides ' +
        'the schedule of one task.',
    ],
    example: inTask(`schedule {
  cron {
    start    = "30 9 * * MON-FRI"
    end      = "0 16"
    timezone = "Europe/Berlin"
  }
}`),
  },
  cron: {
    purpose: 'The window of a schedule. It closes at the next `end` after its `start`.',
    example: inTask('schedule {\n  cron {\n    start = "0 22 * * *"\n    end   = "0 6"\n  }\n}'),
  },
  identity: {
    purpose:
      'Rejected: tokens of workload identities are not supported. Read what the task needs from ' +
      '[variables](../services.md#variables) with a [template](template.md).',
  },
  secret_store: {
    purpose:
      'Rejected: external secret stores are not supported. Keep the values in ' +
      '[variables](../services.md#variables) and read them with a [template](template.md).',
  },
  secret: {
    purpose:
      'Rejected: external secret stores are not supported. Keep the values in ' +
      '[variables](../services.md#variables) and read them with a [template](template.md).',
  },
  discovery: {
    purpose:
      'Rejected: external catalogues are not supported. Use the built-in catalogue with ' +
      '[service](service.md).',
  },
  connect: {
    purpose:
      'Rejected: there is no service mesh. Find the addresses of services with a ' +
      '[template](template.md).',
  },
  csi_plugin: {
    purpose:
      'Rejected: CSI plugins are not supported. Configure a `host_volume` on the nodes and mount it ' +
      'with [volume](volume.md).',
  },
}

const HTTP = 'network {\n  port "http" {}\n}\n'
const SERVING = `shutdown_delay = "5s"\n\n${HTTP}`
/** Listens on the port, so that checks pass. */
const SERVER = `driver = "raw_exec"
config {
  command = "/bin/sh"
  args    = ["-c", "exec python3 -m http.server $REEVE_PORT_http"]
}`
const HOST_VOLUME = 'volume "data" {\n  type   = "host"\n  source = "shop-data"\n}'

export const GROUP_BLOCKS: Readonly<Record<string, BlockDocumentation>> = {
  restart: {
    purpose:
      'How often a task that failed is restarted on its node before the allocation fails. A block in ' +
      'a task is merged over the one in the group.',
    example: { group: 'restart {\n  attempts = 5\n  interval = "10m"\n  delay    = "10s"\n}' },
  },
  disconnect: {
    purpose: 'Handling of the allocations of a group when their node loses its connection.',
    example: {
      group:
        'disconnect {\n  lost_after = "10m"\n  replace    = true\n  reconcile  = "best_score"\n}',
    },
  },
  ephemeral_disk: {
    purpose:
      'Disk space of an allocation, for logs, artifacts and the shared directory `alloc/data`. The ' +
      'node reserves it and measures its use once a minute.',
    example: { group: 'ephemeral_disk {\n  size   = 500\n  sticky = true\n}' },
  },
  network: {
    purpose:
      'Ports and the network of a group. Tasks read `REEVE_PORT_<label>` and `REEVE_ADDR_<label>`. ' +
      'A `network` in `resources` of a task is deprecated.',
    example: { group: 'network {\n  port "http" {}\n  port "admin" {\n    static = 9090\n  }\n}' },
  },
  port: {
    purpose:
      'A port that the group listens on. The label names it for services, checks and ' +
      '`REEVE_PORT_<label>`.',
    example: { group: 'network {\n  mode = "bridge"\n  port "http" {\n    to = 8080\n  }\n}' },
  },
  dns: {
    purpose: 'The `resolv.conf` of tasks in a network namespace.',
    example: {
      group:
        'network {\n  mode = "bridge"\n  dns {\n    servers  = ["192.0.2.53"]\n    searches = ["shop.example"]\n  }\n}',
    },
  },
  cni: {
    purpose: 'Arguments for the CNI plugins of a network with `mode = "cni/<name>"`.',
    example: {
      group: 'network {\n  mode = "cni/internal"\n  cni {\n    args = { tenant = "shop" }\n  }\n}',
    },
  },
  service: {
    purpose:
      'Registers an address in the catalogue while the group or task runs: ' +
      '[services](../services.md).',
    example: {
      group: `${SERVING}service {
  name = "shop"
  port = "http"
  tags = ["v1"]
  check {
    type     = "http"
    path     = "/"
    interval = "10s"
    timeout  = "2s"
  }
}`,
      task: SERVER,
    },
  },
  check: {
    purpose:
      'Checks whether an instance of a service is healthy. Deployments wait for checks, and ' +
      '`check_restart` restarts a task whose checks fail. The agent of the node runs them.',
    example: {
      group: `${SERVING}service {
  port = "http"
  check {
    name     = "alive"
    type     = "tcp"
    interval = "5s"
    timeout  = "1s"
  }
}`,
      task: SERVER,
    },
  },
  check_restart: {
    purpose:
      'Restarts a task when a check fails several times in a row. The restart counts as a failure ' +
      'for [restart](restart.md). In a service it applies to all of its checks.',
    example: {
      group: `${SERVING}service {
  port = "http"
  task = "server"
  check {
    type     = "tcp"
    interval = "5s"
    timeout  = "1s"
    check_restart {
      limit = 3
      grace = "20s"
    }
  }
}`,
      task: SERVER,
    },
  },
  weights: {
    purpose: 'Weights of an instance for clients of an external catalogue. No effect here.',
    example: {
      group: `${SERVING}service {\n  port = "http"\n  weights {\n    passing = 5\n    warning = 1\n  }\n}`,
      task: SERVER,
    },
  },
  volume: {
    purpose:
      'A volume that tasks of the group mount with [volume_mount](volume_mount.md). The label is its ' +
      'name in the group. Nodes offer volumes in their configuration (`host_volume`); others are ' +
      'created while the cluster runs: [dynamic host volumes](../../how-to/host-volumes.md).',
    example: {
      group: HOST_VOLUME,
    },
  },
  volume_mount: {
    purpose: 'Mounts a volume of the group into the task.',
    example: {
      group: HOST_VOLUME,
      task: `driver = "exec"
config {
  command = "/bin/sleep"
  args    = ["600"]
}
volume_mount {
  volume      = "data"
  destination = "/data"
}`,
    },
  },
  mount_options: { purpose: 'Mount options of CSI volumes. Rejected on host volumes.' },
  scaling: {
    purpose:
      'Bounds for the count of a group, and a policy for an autoscaler outside of the cluster, which ' +
      'reads it from `/v1/scaling/policies`. In a task the label is `cpu` or `mem`, and the policy ' +
      'is about the resources of the task.',
    example: { group: 'scaling {\n  min = 1\n  max = 10\n  policy {\n    cooldown = "1m"\n  }\n}' },
  },
  policy: {
    purpose: 'Settings for an external autoscaler. Stored as they are written.',
    example: {
      group: 'scaling {\n  min = 1\n  max = 5\n  policy {\n    evaluation_interval = "30s"\n  }\n}',
    },
  },
}
