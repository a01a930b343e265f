import {
  HostVolumeRecord,
  MadeVolume,
  v1Routes,
  type HostVolume,
  type HostVolumeInput,
  type HostVolumeRecord as VolumeRow,
  type HostVolumeStub,
  type VolumePlugin,
} from '@reeve/contract'
import type { Caller } from '../../acl/index.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import { fieldKindsFromSchema } from '../../lang/filter/index.ts'
import { allocationStub, refusal, volumePluginsOf, type Refusal } from '../../model/index.ts'
import { namespacedKey, type Store } from '../../state/index.ts'
import {
  deleteHostVolume,
  HOST_VOLUME_NOT_FOUND,
  mountersOf,
  VolumeWrites,
  writeHostVolume,
  type VolumeHost,
} from '../../workload/index.ts'
import { EMPTY, json } from '../answer.ts'
import { collectRows } from '../list-page.ts'
import { slicesOf } from '../slices.ts'
import type { ClientHost } from './client-allocations.ts'
import {
  read,
  write,
  type Endpoint,
  type ReadPlan,
  type RequestOf,
  type Requirement,
  type Written,
  type WriteRequestOf,
} from './endpoint.ts'
import { nodeAnswer } from './node-answer.ts'
import { namespaceScope, scopeOf, watchTables, type NamespaceRight } from './namespace-scope.ts'
import { requiredBody } from './required-body.ts'
import { inNamespace, somewhere } from './requirements.ts'
import { listWatched } from './row-reads.ts'
import { NAMESPACED_TOKEN, visible, walkGroupKeys, walkKeys, type Walk } from './walks.ts'

const askMade = nodeAnswer(MadeVolume)

const FILTER = { kinds: fieldKindsFromSchema(HostVolumeRecord) }

const READ_VOLUME: NamespaceRight = {
  name: 'host-volume-read',
  isHeld: (grants, namespace) => grants.allows(namespace, 'host-volume-read'),
}

/** Returns the routes of dynamic host volumes and their plugins. */
export function volumeEndpoints({ context, gateway }: ClientHost): readonly Endpoint[] {
  const { store } = context
  const plugins = new PluginCounts(store.tables)
  const host: VolumeHost = {
    context,
    gateway,
    writes: new VolumeWrites(),
    askMade: (nodeId, request, deadlineMs) => askMade(gateway, { nodeId, request, deadlineMs }),
  }
  return [
    read(v1Routes.listVolumes, inNamespace('host-volume-read'), (request) =>
      listVolumes(store, request),
    ),
    read(v1Routes.listVolumePlugins, mayListPlugins, (request) => listPlugins(plugins, request)),
    read(v1Routes.readHostVolume, inNamespace('host-volume-read'), (request) =>
      ok(readVolume(store, request)),
    ),
    // The body names the namespace.
    write(v1Routes.createHostVolume, somewhere('host-volume-create'), (request) =>
      writeVolume(host, request, 'created'),
    ),
    write(v1Routes.registerHostVolume, somewhere('host-volume-register'), (request) =>
      writeVolume(host, request, 'registered'),
    ),
    write(v1Routes.deleteHostVolume, inNamespace('host-volume-delete'), (request) =>
      deleteVolume(host, request),
    ),
    write(v1Routes.deleteHostVolumeByAction, inNamespace('host-volume-delete'), (request) =>
      deleteVolume(host, request),
    ),
  ]
}

const mayListPlugins: Requirement = ({ grants }) => grants.plugin('list')

/** Parses the parameter `type`; false for `csi`, of which there are no volumes or plugins. */
function asksForHost(type = ''): Result<boolean, Refusal> {
  if (type === '' || type === 'host') return ok(true)
  if (type === 'csi') return ok(false)
  return err(refusal('invalid-input', 'type must be "host" or "csi"'))
}

function listVolumes(
  store: Store,
  request: RequestOf<typeof v1Routes.listVolumes>,
): Result<ReadPlan, Refusal> {
  const { caller, query } = request
  const asks = asksForHost(query.type)
  if (!asks.ok) return asks
  const { prefix = '', node_id: node, node_pool: pool, plugin_id: plugin } = query
  const isVisible = (row: VolumeRow): boolean =>
    asks.value &&
    row.ID.startsWith(prefix) &&
    (!node || row.NodeID === node) &&
    (!pool || row.NodePool === pool) &&
    (!plugin || row.PluginID === plugin) &&
    (request.namespace === '*' || row.Namespace === request.namespace) &&
    caller.grants.allows(row.Namespace, 'host-volume-read')
  const watched = watchTables(store, ['host_volumes'], scopeOf(request, READ_VOLUME))
  return ok(
    listWatched(watched, () => ({
      walk: visible(walkOf(store, request.namespace, query), isVisible),
      query,
      filter: FILTER,
      stub: volumeStub,
    })),
  )
}

function walkOf(
  { tables }: Store,
  namespace: string,
  { prefix = '', node_id: node }: RequestOf<typeof v1Routes.listVolumes>['query'],
): Walk<VolumeRow> {
  const { host_volumes: volumes } = tables
  if (node) return walkGroupKeys(volumes, { index: 'node', group: node }, NAMESPACED_TOKEN)
  const low = namespace === '*' ? '' : namespacedKey(namespace, prefix)
  return walkKeys(volumes, low, NAMESPACED_TOKEN)
}

function volumeStub(row: VolumeRow): HostVolumeStub {
  const {
    Constraints: _constraints,
    RequestedCapacityMinBytes: _min,
    RequestedCapacityMaxBytes: _max,
    RequestedCapabilities: _capabilities,
    Parameters: _parameters,
    HostPath: _path,
    ...stub
  } = row
  return stub
}

/**
 * Reads one volume with the allocations that mount it. A blocking query waits for changes of the
 * volume only.
 */
function readVolume(
  store: Store,
  { caller, namespace, params }: RequestOf<typeof v1Routes.readHostVolume>,
): ReadPlan {
  const key = namespacedKey(namespace, params.volume_id)
  const { host_volumes: volumes } = store.tables
  const scope = namespaceScope(namespace)
  return {
    index: () => volumes.modifyIndexOf(key) ?? store.indexIn('host_volumes', scope),
    watch: [{ table: 'host_volumes', key }],
    answer: () => {
      const row = volumes.find(key)
      return row === undefined
        ? err(HOST_VOLUME_NOT_FOUND)
        : ok(json(volumeView(store, row, caller)))
    },
  }
}

/** Adds the mounting allocations if the caller may read jobs. */
function volumeView({ tables }: Store, row: VolumeRow, { grants }: Caller): HostVolume {
  const mounters = grants.allows(row.Namespace, 'read-job') ? mountersOf(tables, row) : []
  return { ...row, Allocations: mounters.map((allocation) => allocationStub(allocation)) }
}

function listPlugins(
  plugins: PluginCounts,
  { query }: RequestOf<typeof v1Routes.listVolumePlugins>,
): Result<ReadPlan, Refusal> {
  const asks = asksForHost(query.type)
  if (!asks.ok) return asks
  return ok({
    index: () => plugins.index,
    watch: [{ table: 'nodes' }],
    answer: async (yieldTurn) => {
      const all = asks.value ? await plugins.count(yieldTurn) : ok([])
      if (!all.ok) return all
      return ok(json(all.value.filter(({ ID }) => ID.startsWith(query.prefix ?? ''))))
    },
  })
}

/** Counts plugins over all nodes, in slices, and keeps the result until a node changes. */
class PluginCounts {
  readonly #nodes: Store['tables']['nodes']
  #counted: { readonly index: number; readonly plugins: readonly VolumePlugin[] } | undefined

  constructor({ nodes }: Store['tables']) {
    this.#nodes = nodes
  }

  get index(): number {
    return this.#nodes.lastIndex
  }

  async count(yieldTurn: () => Promise<void>): Promise<Result<readonly VolumePlugin[], Refusal>> {
    const { index } = this
    if (this.#counted?.index === index) return ok(this.#counted.plugins)
    const walk = { ...walkKeys(this.#nodes, ''), filterView: (row: object) => row }
    const unfiltered = { ...walk, filterOptions: {} }
    const nodes = await collectRows(unfiltered, undefined, slicesOf(yieldTurn))
    if (!nodes.ok) return nodes
    const plugins = pluginsOn(nodes.value)
    this.#counted = { index, plugins }
    return ok(plugins)
  }
}

interface PluginNode {
  readonly Attributes: Readonly<Record<string, string>>
  readonly Status: string
}

function pluginsOn(nodes: readonly PluginNode[]): readonly VolumePlugin[] {
  const found = new Map<string, { versions: Set<string>; expected: number; healthy: number }>()
  for (const { Attributes, Status } of nodes)
    for (const [name, version] of volumePluginsOf(Attributes)) {
      const plugin = found.get(name) ?? { versions: new Set<string>(), expected: 0, healthy: 0 }
      found.set(name, plugin)
      plugin.versions.add(version)
      plugin.expected += 1
      if (Status === 'ready') plugin.healthy += 1
    }
  const sorted = [...found].toSorted(([a], [b]) => compareText(a, b))
  return sorted.map(([name, { versions, expected, healthy }]) => ({
    ID: name,
    Type: 'host',
    Versions: [...versions].toSorted(compareText),
    NodesExpected: expected,
    NodesHealthy: healthy,
  }))
}

async function writeVolume(
  host: VolumeHost,
  request: WriteRequestOf<typeof v1Routes.createHostVolume>,
  origin: 'created' | 'registered',
): Promise<Result<Written, Refusal>> {
  const body = requiredBody(request.body)
  if (!body.ok) return body
  const { Volume } = body.value
  if (!Volume) return err(refusal('invalid-input', 'Volume must be in the body'))
  const input: HostVolumeInput = { ...Volume, Namespace: Volume.Namespace || request.namespace }
  const written = await writeHostVolume(host, request.caller, { input, origin })
  if (!written.ok) return written
  const { volume, index } = written.value
  const view = volumeView(host.context.store, volume, request.caller)
  return ok({ index, answer: json({ Volume: view, Warnings: '' }) })
}

async function deleteVolume(
  host: VolumeHost,
  { caller, namespace, params, query }: WriteRequestOf<typeof v1Routes.deleteHostVolume>,
): Promise<Result<Written, Refusal>> {
  const { volume_id: id } = params
  const deleted = await deleteHostVolume(host, caller, {
    namespace,
    id,
    force: query.force ?? false,
  })
  return deleted.ok ? ok({ index: deleted.value.index, answer: EMPTY }) : deleted
}
