export const JOB_BLOCKS: Readonly<Record<string, BlockDocumentation>> = {
  job: {
    purpose:
      'A job is what you submit: one or more groups of tasks, where they may run, and how they are ' +
      'updated. A file holds one job; its label is the ID.',
    example: { job: 'type     = "service"\npriority = 70\nmeta {\n  owner = "shop"\n}' },
  },
  group: {
    purpose:
      'A group is a set of tasks that always run together on one node. Each of its `count` copies ' +
      'is an allocation. Tasks of a group share a network, an allocation directory and volumes.',
    example: { group: 'count = 2' },
  },
  task: {
    purpose:
      'A task is one program that a driver starts and supervises. At least one task of a group must ' +
      'be a main task, one without a `lifecycle` block. A `task` directly in a job is a group of ' +
      'that name with one task.',
    example: {
      task: `driver       = "raw_exec"
kill_signal  = "SIGINT"
kill_timeout = "20s"
env {
  GREETING = "hello"
}
config {
  command = "/bin/sleep"
  args    = ["600"]
}`,
    },
  },
  update: {
    purpose:
      'How a new version of a job is rolled out: how many allocations at a time, what counts as ' +
      'healthy, canaries, and whether a failed roll-out is reverted. A block in a group is merged ' +
      'over the one in the job. Only `service` and `system` jobs.',
    example: {
      group: `count = 3
update {
  max_parallel     = 1
  canary           = 1
  min_healthy_time = "5s"
  healthy_deadline = "1m"
  auto_revert      = true
  auto_promote     = true
}`,
    },
  },
  migrate: {
    purpose: 'How allocations leave a node that is drained. Only `service` jobs.',
    example: {
      group: 'count = 3\nmigrate {\n  max_parallel     = 1\n  min_healthy_time = "5s"\n}',
    },
  },
  reschedule: {
    purpose:
      'Whether and when a failed allocation is replaced, usually on another node. A task that only ' +
      'ended is first restarted on its node, as [restart](restart.md) says. Only `service` and ' +
      '`batch` jobs.',
    example: {
      group: `reschedule {
  delay          = "10s"
  delay_function = "exponential"
  max_delay      = "10m"
  unlimited      = true
}`,
    },
  },
  periodic: {
    purpose:
      'Launches the job on a schedule. Each launch is a child job named ' +
      '`<job>/periodic-<time>`. Only `batch` and `sysbatch` jobs.',
    example: {
      job: `type = "batch"
periodic {
  crons            = ["*/15 * * * *"]
  prohibit_overlap = true
  time_zone        = "Europe/Berlin"
}`,
    },
  },
  parameterized: {
    purpose:
      'Makes the job a template that `reeve job dispatch` starts with a payload and metadata. ' +
      'Nothing runs until then; each dispatch is a child job. Only `batch` and `sysbatch` jobs.',
    example: {
      job: `type = "batch"
parameterized {
  payload       = "optional"
  meta_required = ["customer"]
  meta_optional = ["dry_run"]
}`,
    },
  },
  multiregion: {
    purpose:
      'Runs the job in several regions and coordinates their deployments: [regions](../../how-to/regions.md).',
    example: {
      job: `multiregion {
  strategy {
    max_parallel = 1
    on_failure   = "fail_all"
  }
  region "global" {
    count = 2
  }
}`,
    },
  },
  strategy: {
    purpose: 'How the deployments of a multi-region job are coordinated.',
    example: {
      job: 'multiregion {\n  strategy {\n    max_parallel = 1\n  }\n  region "global" {}\n}',
    },
  },
  region: {
    purpose: 'One region of a multi-region job. The label is its name.',
    example: {
      job: 'multiregion {\n  region "global" {\n    count       = 3\n    datacenters = ["*"]\n  }\n}',
    },
  },
  ui: {
    purpose: 'A description and links that the web UI shows on the page of the job.',
    example: {
      job: `ui {
  description = "Front end of the shop"
  link {
    label = "Runbook"
    url   = "https://wiki.example/shop"
  }
}`,
    },
  },
  link: {
    purpose: 'A link on the page of the job.',
    example: {
      job: 'ui {\n  link {\n    label = "Runbook"\n    url   = "https://wiki.example/shop"\n  }\n}',
    },
  },
  constraint: {
    purpose:
      'Restricts the nodes that a job, group, task or device may use. All constraints must hold. ' +
      'Without `operator` and without a shorthand, `attribute` must equal `value`.',
    example: {
      group: `constraint {
  attribute = "\${attr.kernel.name}"
  value     = "linux"
}
constraint {
  distinct_hosts = true
}`,
    },
  },
  affinity: {
    purpose:
      'Prefers (or, with a negative weight, avoids) nodes. Other nodes are used when no such node ' +
      'has room. Not in `system` jobs.',
    example: {
      group: `affinity {
  attribute = "\${node.class}"
  value     = "ssd"
  weight    = 60
}`,
    },
  },
  spread: {
    purpose:
      'Spreads the allocations of a group over the values of an attribute: evenly, or in the ' +
      'shares of the `target` blocks. Not in `system` jobs.',
    example: {
      group: 'count = 4\nspread {\n  attribute = "${node.datacenter}"\n  weight    = 80\n}',
    },
  },
  target: {
    purpose: 'The share of one value of a spread. The label is the value.',
    example: {
      group: `count = 4
spread {
  attribute = "\${node.datacenter}"
  weight    = 80
  target "dc1" {
    percent = 75
  }
  target "dc2" {
    percent = 25
  }
}`,
    },
  },
}

/** Reference documentation of a block. Its arguments are documented in `schema/`. */
export interface BlockDocumentation {
  /** The first paragraph of its page, in Markdown. */
  readonly purpose: string
  /** Further paragraphs. */
  readonly notes?: readonly string[]
  /** Absent for blocks that are rejected. */
  readonly example?: BlockExample
}

/** Text that an example adds to a minimal job, at each level. */
export interface BlockExample {
  readonly job?: string
  readonly group?: string
  /** Replaces the driver and configuration of the task. */
  readonly task?: string
  /** Text before the job: variables and locals. */
  readonly file?: string
}

/** Blocks at file level, and blocks that expand to others. */
export const FILE_BLOCKS: Readonly<Record<string, BlockDocumentation & FileBlock>> = {
  variable: {
    purpose:
      'Declares a variable of the job file. It is read as `var.<label>` and set with `--var`, ' +
      '`--var-file` or `REEVE_VAR_<name>`; later sources in this order win: default, environment, ' +
      'files, flags.',
    within: 'file',
    arguments: [
      [
        'type',
        'expression',
        'Type of the value: `string`, `number`, `bool`, `list(string)`, `map(number)`, `object({…})` …',
      ],
      ['default', 'expression', 'Value when none is given. Without it a value is required.'],
      ['description', 'string', 'Text for readers of the file.'],
      [
        'validation',
        'block',
        'A rule: `condition` over `var.<label>`, and the `error_message` when it is false.',
      ],
    ],
    example: {
      file: `variable "instances" {
  type    = number
  default = 2
  validation {
    condition     = var.instances > 0
    error_message = "instances must be positive."
  }
}`,
      group: 'count = var.instances',
    },
  },
  locals: {
    purpose: 'Names for expressions. They are read as `local.<name>` and may refer to each other.',
    within: 'file',
    arguments: [['<name>', 'expression', 'Value of `local.<name>`.']],
    example: {
      file: 'locals {\n  team  = "shop"\n  owner = upper(local.team)\n}',
      job: 'meta {\n  owner = local.owner\n}',
    },
  },
  dynamic: {
    purpose:
      'Writes one block for each element of a list, set or map. The label is the type of the blocks. ' +
      'It may stand anywhere inside the job.',
    within: 'anywhere in a job',
    arguments: [
      ['for_each', 'expression', 'Required. The elements.'],
      [
        'iterator',
        'name',
        'Name for the element in `content`. Defaults to the type of the blocks.',
      ],
      ['labels', 'list(string)', 'Labels of the blocks.'],
      [
        'content',
        'block',
        'Required. Body of the blocks; `<iterator>.value` and `<iterator>.key` are the element.',
      ],
    ],
    example: {
      group: `network {
  dynamic "port" {
    for_each = ["http", "admin"]
    labels   = [port.value]
    content {}
  }
}`,
    },
  },
}

interface FileBlock {
  readonly within: string
  readonly arguments: readonly (readonly [name: string, type: string, help: string])[]
}
