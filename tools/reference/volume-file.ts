import type { BlockMapping } from '../../packages/reeve/src/jobspec/schema/table.ts'
import { VOLUME } from '../../packages/reeve/src/jobspec/schema/volume.ts'
import { TYPE_NAMES } from './job-file.ts'
import { code, page, table } from './page.ts'

export const VOLUME_FILE_PAGE = 'docs/reference/volume-file.md'

/** The page about volume files; constraints are described with those of jobs. */
export function volumeFilePage(): string {
  const { capability } = VOLUME.blocks
  if (capability?.form !== 'many') throw new Error('volume files have no capability blocks')
  return page('Volume file', [
    'The file that `reeve volume create` and `reeve volume register` read: one ' +
      '[dynamic host volume](../how-to/host-volumes.md) in HCL or its JSON form, without a block ' +
      'around it. A volume as `reeve volume show --json` prints it is accepted, too.',
    '## Arguments',
    argumentTable(VOLUME),
    '## Blocks',
    table(
      ['Block', 'Number', 'Description'],
      [
        [code('capability'), 'any', 'How groups may mount the volume: any of these.'],
        [code('constraint'), 'any', CONSTRAINTS],
      ],
    ),
    `## ${code('capability')}`,
    argumentTable(capability.table),
  ])
}

const CONSTRAINTS =
  'Restricts the nodes on which it may be created, as the ' +
  '[constraint](job-file/constraint.md) of a job, except `distinct_hosts` and `distinct_property`.'

function argumentTable({ attributes }: BlockMapping): string {
  const rows = Object.entries(attributes).map(([name, { kind, help }]) => [
    code(name),
    code(TYPE_NAMES[kind]),
    help,
  ])
  return table(['Argument', 'Type', 'Description'], rows)
}
