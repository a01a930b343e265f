import type { BlockDocumentation } from './block.ts'

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
