import { HostVolumeRecord, VolumeCapability } from '@reeve/contract'
import { toText } from '@reeve/hcl'
import { setFrom, reportAt, takePseudoField, type RecordBuilder } from '../build/record-builder.ts'
import { CONSTRAINT } from './placement.ts'
import { many, mapBlock, string, stringMap } from './block-mapping.ts'

const CAPABILITY = mapBlock(VolumeCapability, {
  attributes: {
    access_mode: string(
      'AccessMode',
      '`single-node-reader-only`, `single-node-writer` (default), `single-node-single-writer` or ' +
        '`single-node-multi-writer`.',
    ),
    attachment_mode: string('AttachmentMode', '`file-system` (default) or `block-device`.'),
  },
})

const PREFIXES = 'KMGTP'

/** A volume file: the attributes and blocks of one dynamic host volume, without a block around. */
export const VOLUME = mapBlock(HostVolumeRecord, {
  attributes: {
    name: string('Name', 'Required. Name that groups mount it by (`source`); unique on its node.'),
    namespace: string(
      'Namespace',
      'Namespace whose jobs may mount it. Default: that of the command.',
    ),
    id: string('ID', 'ID of an existing volume, which the file then changes.'),
    type: string('@type', '`host`, the only type.'),
    plugin_id: string(
      'PluginID',
      'Plugin that creates it. Default: `mkdir`. Not used when registered.',
    ),
    node_pool: string('NodePool', 'Node pool from which a node is chosen.'),
    node_id: string('NodeID', 'ID of the node. Required when registered.'),
    host_path: string(
      'HostPath',
      'Existing directory. Required when registered, not used when created.',
    ),
    capacity: string('@capacity', 'Size of a registered volume. Informational.'),
    capacity_min: string(
      '@capacity_min',
      'Smallest acceptable size: a number of bytes, or text such as `10GiB` or `500MB`.',
    ),
    capacity_max: string('@capacity_max', 'Largest acceptable size. Default: any.'),
    parameters: stringMap(
      'Parameters',
      'Arguments of the plugin. Plugin `mkdir` takes `mode`, `uid` and `gid`.',
    ),
  },
  blocks: {
    capability: many('RequestedCapabilities', CAPABILITY),
    constraint: many('Constraints', CONSTRAINT),
  },
  finish: convertFields,
})

const SIZES = {
  '@capacity': 'CapacityBytes',
  '@capacity_min': 'RequestedCapacityMinBytes',
  '@capacity_max': 'RequestedCapacityMaxBytes',
} as const

function convertFields(draft: RecordBuilder): void {
  for (const [from, to] of Object.entries(SIZES)) convertSize(draft, `@${from.slice(1)}`, to)
  const type = toText(takePseudoField(draft, '@type') ?? null)
  if (type !== undefined && type !== 'host')
    reportAt(draft, '@type', {
      summary: 'Unsupported volume type',
      detail: `type "${type}" is not supported: volumes are of type "host".`,
    })
}

function convertSize(draft: RecordBuilder, from: `@${string}`, to: string): void {
  const written = toText(takePseudoField(draft, from) ?? null)
  if (written === undefined) return
  const value = byteSize(written)
  if (value !== undefined) return setFrom(draft, to, { value, from })
  reportAt(draft, from, {
    summary: 'Invalid size',
    detail: `A size such as 10GiB, 500MB or a number of bytes is required, not "${written}".`,
  })
}

/**
 * The bytes of a size such as `10GiB`, `500 MB` or `4096`: units with `i` are powers of 1024, those
 * without are powers of 1000. Undefined for other text and for sizes beyond exact numbers.
 */
export function byteSize(text: string): number | undefined {
  const [, amount, prefix = '', binary] =
    /^\s*(\d+(?:\.\d+)?)\s*(?:([KMGTP])(i)?)?B?\s*$/i.exec(text) ?? []
  if (amount === undefined) return undefined
  const step = binary === undefined ? 1000 : 1024
  const bytes = Number(amount) * step ** exponentOf(prefix)
  const whole = Math.round(bytes)
  return Number.isSafeInteger(whole) && (prefix !== '' || whole === bytes) ? whole : undefined
}

function exponentOf(prefix: string): number {
  return prefix === '' ? 0 : PREFIXES.indexOf(prefix.toUpperCase()) + 1
}
