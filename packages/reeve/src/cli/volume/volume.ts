import { basename } from 'node:path'
import type { HostVolume, HostVolumeInput } from '@reeve/contract'
import type { ItemOf } from '@reeve/sdk'
import { formatAllocationTable } from '../alloc/allocation-text.ts'
import type { CommandContext } from '../command.ts'
import { confirm } from '../confirm.ts'
import { CommandError, EXIT_CODES } from '../errors.ts'
import { readTextFile } from '../input.ts'
import { formatId, isIdPrefix, resolveIdPrefix, resolveOne } from '../resolve.ts'
import { findNode } from '../node/find-node.ts'
import {
  agoFromNs,
  formatKeyValues,
  formatSize,
  joinSections,
  renderNonEmptyFields,
  renderTable,
  shortenId,
} from '../output/format.ts'
import { statusStyle } from '../output/color.ts'
import { writeExample } from '../write-example.ts'

export async function runVolumeList(invocation: CommandContext): Promise<number> {
  const { client, flags, output, signal } = invocation
  const node = flags.string('node')
  const query = {
    node_id: node === undefined ? undefined : (await findNode(invocation, node)).ID,
    node_pool: flags.string('node-pool'),
    plugin_id: flags.string('plugin'),
  }
  const volumes: VolumeStub[] = []
  for await (const volume of client.pages('listVolumes', { query, signal })) volumes.push(volume)
  output.print(volumes, () =>
    volumes.length === 0
      ? 'There are no volumes. "reeve volume init" writes a file for a first one.'
      : volumeTable(volumes, invocation),
  )
  return EXIT_CODES.ok
}

function volumeTable(
  volumes: readonly VolumeStub[],
  { flags, output, settings }: CommandContext,
): string {
  const isVerbose = flags.has('verbose')
  const isEverywhere = settings.namespace === '*'
  const rows = volumes.map((volume) => [
    formatId(volume.ID, isVerbose),
    ...(isEverywhere ? [volume.Namespace] : []),
    volume.Name,
    volume.PluginID === '' ? 'registered' : volume.PluginID,
    volume.NodePool,
    formatId(volume.NodeID, isVerbose),
    volume.CapacityBytes === 0 ? '' : formatSize(volume.CapacityBytes),
    output.paint(statusStyle(volume.State), volume.State),
  ])
  const place = isEverywhere ? ['Namespace'] : []
  const heading = ['ID', ...place, 'Name', 'Plugin', 'Node pool', 'Node', 'Size', 'State']
  return renderTable(heading, rows)
}

export async function runVolumeShow(invocation: CommandContext): Promise<number> {
  const { args, client, output } = invocation
  const found = await findVolume(invocation, args[0] ?? '')
  const { data } = await client.v1.readHostVolume(volumeRequest(found))
  output.print(data, () => formatVolume(data, invocation))
  return EXIT_CODES.ok
}

function formatVolume(volume: HostVolume, invocation: CommandContext): string {
  const { output } = invocation
  const { Allocations: mounters } = volume
  const allocations =
    mounters.length === 0
      ? 'No allocation mounts the volume.\n'
      : `${output.paint('strong', 'Allocations')}\n${formatAllocationTable(mounters, invocation)}`
  return joinSections([formatFields(volume, invocation), allocations])
}

function formatFields(volume: HostVolume, { flags, host, output }: CommandContext): string {
  const { RequestedCapacityMinBytes: min, RequestedCapacityMaxBytes: max } = volume
  const capabilities = (volume.RequestedCapabilities ?? []).map(
    ({ AccessMode, AttachmentMode }) => `${AccessMode} (${AttachmentMode})`,
  )
  const constraints = (volume.Constraints ?? []).map(({ LTarget, Operand, RTarget }) =>
    `${LTarget} ${Operand} ${RTarget}`.trim(),
  )
  return renderNonEmptyFields([
    ['ID', volume.ID],
    ['Name', volume.Name],
    ['Namespace', volume.Namespace],
    ['State', output.paint(statusStyle(volume.State), volume.State)],
    ['Plugin', volume.PluginID === '' ? 'none, registered' : volume.PluginID],
    ['Node', formatId(volume.NodeID, flags.has('verbose'))],
    ['Node pool', volume.NodePool],
    ['Path', volume.HostPath],
    ['Size', formatKnownSize(volume.CapacityBytes)],
    ['Minimum size', formatKnownSize(min)],
    ['Maximum size', formatKnownSize(max)],
    ['Capabilities', capabilities.join(', ')],
    ['Constraints', constraints.join(', ')],
    ['Parameters', formatKeyValues(volume.Parameters)],
    ['Created', agoFromNs(volume.CreateTime, host.nowMs())],
    ['Changed', agoFromNs(volume.ModifyTime, host.nowMs())],
  ])
}

/** Plugins that do not limit the size report 0. */
function formatKnownSize(bytes: number): string {
  return bytes === 0 ? '' : formatSize(bytes)
}

type Write = (invocation: CommandContext, volume: HostVolumeInput) => Promise<HostVolume>

export async function runVolumeCreate(invocation: CommandContext): Promise<number> {
  return await writeVolume(invocation, 'created', async ({ client }, Volume) => {
    const { data } = await client.v1.createHostVolume({ body: { Volume } })
    return data.Volume
  })
}

export async function runVolumeRegister(invocation: CommandContext): Promise<number> {
  return await writeVolume(invocation, 'registered', async ({ client }, Volume) => {
    const { data } = await client.v1.registerHostVolume({ body: { Volume } })
    return data.Volume
  })
}

async function writeVolume(
  invocation: CommandContext,
  done: 'created' | 'registered',
  write: Write,
): Promise<number> {
  const { args, flags, output } = invocation
  const input = await readVolumeFile(invocation, args[0] ?? '')
  const written = await write(invocation, input)
  const verb = input.ID ? 'updated' : done
  output.printLine(
    `Volume "${written.Name}" (${shortenId(written.ID)}) is ${verb}: ${formatLocation(written)}.`,
  )
  const volume = flags.has('detach') ? written : await waitUntilReady(invocation, written)
  output.print(volume, () =>
    volume.State === 'ready' ? `Jobs in namespace "${volume.Namespace}" can mount it.` : '',
  )
  return EXIT_CODES.ok
}

function formatLocation({ HostPath, NodeID }: HostVolume): string {
  return `${HostPath} on node ${shortenId(NodeID)}`
}

/** A node reports a new volume with its next update, within seconds. */
const READY_TIMEOUT_MS = 60_000

/** The volume once its node reports it; until then no job can mount it. */
async function waitUntilReady(
  invocation: CommandContext,
  written: HostVolume,
): Promise<HostVolume> {
  if (written.State === 'ready') return written
  const { client, signal } = invocation
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(READY_TIMEOUT_MS)])
  const request = { ...volumeRequest(written), signal: deadline }
  try {
    for await (const { data } of client.blocking('readHostVolume', request))
      if (data.State === 'ready') return data
  } catch (thrown) {
    if (signal.aborted || !deadline.aborted) throw thrown
  }
  throw new CommandError(
    `Node ${shortenId(written.NodeID)} has not reported the volume within ${READY_TIMEOUT_MS / 1000} s.`,
    { hint: `"reeve volume show ${shortenId(written.ID)}" shows its state.` },
  )
}

export async function runVolumeDelete(invocation: CommandContext): Promise<number> {
  const { args, client, flags, output } = invocation
  const volume = await findVolume(invocation, args[0] ?? '')
  await confirm(invocation, questionOf(volume))
  const { params, query } = volumeRequest(volume)
  await client.v1.deleteHostVolume({ params, query: { ...query, force: flags.has('force') } })
  output.printLine(`Volume "${volume.Name}" is deleted.`)
  return EXIT_CODES.ok
}

function questionOf({ ID, Name, NodeID, PluginID }: VolumeStub): string {
  return PluginID === ''
    ? `Delete volume "${Name}" (${ID})? Its directory on node ${NodeID} is kept.`
    : `Delete volume "${Name}" (${ID}) with its data on node ${NodeID}?`
}

const CREATED = `name      = "shop-data"
plugin_id = "mkdir"

# Groups mount the volume with one of these access modes.
capability {
  access_mode = "single-node-writer"
}

# The servers choose a node that satisfies all constraints.
constraint {
  attribute = "\${attr.kernel.name}"
  value     = "linux"
}

parameters {
  mode = "0750"
}
`

const REGISTERED = `name      = "shop-data"
node_id   = "ID of the node, from: reeve node status --verbose"
host_path = "/srv/shop-data"

# Groups mount the volume with one of these access modes.
capability {
  access_mode = "single-node-writer"
}
`

/** `volume init`: writes an example that `volume create` accepts, or `volume register`. */
export async function runVolumeInit(invocation: CommandContext): Promise<number> {
  const { args, flags } = invocation
  const file = args[0] ?? 'volume.hcl'
  const isRegister = flags.has('register')
  const next = `reeve volume ${isRegister ? 'register' : 'create'} ${file}`
  await writeExample(invocation, {
    file,
    text: isRegister ? REGISTERED : CREATED,
    next: [next],
  })
  return EXIT_CODES.ok
}

type VolumeStub = ItemOf<'listVolumes'>

const VOLUME_SEARCH_TEXTS = { noun: 'volume', listCommand: 'reeve volume list' }

/** The volume of this name or ID prefix. A name wins: it may consist of hex digits. */
async function findVolume(invocation: CommandContext, given: string): Promise<VolumeStub> {
  const { client, settings, signal } = invocation
  const filter = `Name == ${JSON.stringify(given)}`
  const named: VolumeStub[] = []
  for await (const volume of client.pages('listVolumes', { query: { filter }, signal }))
    named.push(volume)
  if (named.length > 0 || !isIdPrefix(given)) {
    const where = `in namespace "${settings.namespace ?? 'default'}"`
    return resolveOne({
      ...VOLUME_SEARCH_TEXTS,
      input: given,
      scope: where,
      matches: named,
      idOf: ({ Name }) => Name,
      describe,
    })
  }
  return await resolveIdPrefix({
    ...VOLUME_SEARCH_TEXTS,
    input: given,
    search: (digits) => {
      // The server compares with whole IDs, whose first hyphen comes after the eighth digit.
      const query = { prefix: digits.slice(0, 8) }
      return client.pages('listVolumes', { query, signal })
    },
    describe: ({ Name, State }) => `${Name}, ${State}`,
  })
}

function describe({ ID, Namespace, NodeID, State }: VolumeStub): string {
  return `${ID}  in ${Namespace} on node ${NodeID}, ${State}`
}

/** The parameters of a request about a volume. */
function volumeRequest({ ID, Namespace }: Pick<VolumeStub, 'ID' | 'Namespace'>) {
  return { params: { volume_id: ID }, query: { namespace: Namespace } }
}

/** Reads a volume file: HCL, its JSON form, or a volume in the JSON of the API. */
async function readVolumeFile(invocation: CommandContext, path: string): Promise<HostVolumeInput> {
  const text = await readTextFile(invocation, path)
  const file = path === '-' ? '<stdin>' : basename(path)
  const input = apiVolume(text) ?? (await parsedVolume({ file, text }))
  return { ...input, Namespace: input.Namespace || invocation.settings.namespace || 'default' }
}

async function parsedVolume(file: {
  readonly file: string
  readonly text: string
}): Promise<HostVolumeInput> {
  // The language is large; other commands start without it.
  const [{ formatDiagnostics }, { parseVolumeFile }] = await Promise.all([
    import('@reeve/hcl'),
    import('../../jobspec/index.ts'),
  ])
  const parsed = parseVolumeFile(file)
  if (parsed.ok) return parsed.value
  const texts = new Map([[file.file, file.text]])
  throw new CommandError(
    `The volume file is invalid:\n\n${formatDiagnostics(texts, parsed.error)}`,
    {
      hint: 'Nothing was sent to the server. "reeve volume init" writes an example.',
    },
  )
}

/** A volume as `volume show --json` prints it, or a request with one; undefined for HCL. */
function apiVolume(text: string): HostVolumeInput | undefined {
  let read: unknown
  try {
    read = JSON.parse(text)
  } catch {
    // HCL, or broken JSON, whose errors the parser describes with their position.
    return undefined
  }
  const volume = memberOf(read, 'Volume') ?? read
  // Proof: the server validates every field of the request.
  return memberOf(volume, 'Name') === undefined ? undefined : (volume as HostVolumeInput)
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
}
