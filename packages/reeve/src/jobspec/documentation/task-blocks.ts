import type { BlockDocumentation, BlockExample } from './block.ts'

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
