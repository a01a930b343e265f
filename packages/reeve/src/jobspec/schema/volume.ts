import { HostVolumeRecord, VolumeCapability } from '@reeve/contract'
import { toText } from '@reeve/hcl'
import { put, refuse, take, type Draft } from '../build/draft.ts'
import { CONSTRAINT } from './placement.ts'
import { byteSize } from './size.ts'
import { many, tableOf, text, textMap } from './table.ts'

const CAPABILITY = tableOf(VolumeCapability, {
  attributes: {
    access_mode: text(
      'AccessMode',
      '`single-node-reader-only`, `single-node-writer` (default), `single-node-single-writer` or ' +
        '`single-node-multi-writer`.',
    ),
    attachment_mode: text('AttachmentMode', '`file-system` (default) or `block-device`.'),
  },
})

/** A volume file: the attributes and blocks of one dynamic host volume, without a block around. */
export const VOLUME = tableOf(HostVolumeRecord, {
  attributes: {
    name: text('Name', 'Required. Name that groups mount it by (`source`); unique on its node.'),
    namespace: text(
      'Namespace',
      'Namespace whose jobs may mount it. Default: that of the command.',
    ),
    id: text('ID', 'ID of an existing volume, which the file then changes.'),
    type: text('@type', '`host`, the only type.'),
    plugin_id: text(
      'PluginID',
      'Plugin that creates it. Default: `mkdir`. Not used when registered.',
    ),
    node_pool: text('NodePool', 'Node pool from which a node is chosen.'),
    node_id: text('NodeID', 'ID of the node. Required when registered.'),
    host_path: text(
      'HostPath',
      'Existing directory. Required when registered, not used when created.',
    ),
    capacity: text('@capacity', 'Size of a registered volume. Informational.'),
    capacity_min: text(
      '@capacity_min',
      'Smallest acceptable size: a number of bytes, or text such as `10GiB` or `500MB`.',
    ),
    capacity_max: text('@capacity_max', 'Largest acceptable size. Default: any.'),
    parameters: textMap(
      'Parameters',
      'Arguments of the plugin. Plugin `mkdir` takes `mode`, `uid` and `gid`.',
    ),
  },
  blocks: {
    capability: many('RequestedCapabilities', CAPABILITY),
    constraint: many('Constraints', CONSTRAINT),
  },
  finish: convert,
})

const SIZES = {
  '@capacity': 'CapacityBytes',
  '@capacity_min': 'RequestedCapacityMinBytes',
  '@capacity_max': 'RequestedCapacityMaxBytes',
} as const

function convert(draft: Draft): void {
  for (const [from, to] of Object.entries(SIZES)) convertSize(draft, `@${from.slice(1)}`, to)
  const type = toText(take(draft, '@type') ?? null)
  if (type !== undefined && type !== 'host')
    refuse(draft, '@type', {
      summary: 'Unsupported volume type',
      detail: `type "${type}" is not supported: volumes are of type "host".`,
    })
}

function convertSize(draft: Draft, from: `@${string}`, to: string): void {
  const written = toText(take(draft, from) ?? null)
  if (written === undefined) return
  const value = byteSize(written)
  if (value !== undefined) return put(draft, to, { value, from })
  refuse(draft, from, {
    summary: 'Invalid size',
    detail: `A size such as 10GiB, 500MB or a number of bytes is required, not "${written}".`,
  })
}
