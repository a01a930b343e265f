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
import { fieldTypeFromSchema } from '../../lang/filter/index.ts'
import { allocationStub, refusal, volumePluginsOf, type Refusal } from '../../model/index.ts'
import { namespacedKey, type Store } from '../../state/index.ts'
import {
  deleteHostVolume,
  HOST_VOLUME_NOT_FOUND,
  mountingAllocations,
  VolumeWriteQueue,
  writeHostVolume,
  type HostVolumeDeps,
} from '../../workload/index.ts'
import { EMPTY_RESPONSE, json } from '../response.ts'
import { collectRows, sliceOptions } from '../list-page.ts'
import type { NodeRouteDeps } from './client-operations.ts'
import {
  read,
  write,
  type Endpoint,
  type WatchedRead,
  type V1Request,
  type AccessRule,
  type WriteResult,
  type WriteRequestOf,
} from './endpoint.ts'
import { nodeRpc } from './node-rpc.ts'
import {
  namespaceScope,
  requestScope,
  watchTables,
  type NamespacePermission,
  filterVisible,
  listWatched,
  NAMESPACED_KEY_CODEC,
  type RowScan,
  scanByKey,
  scanIndexByKey,
} from './reads.ts'
import { requireBody } from './errors.ts'
import { inNamespace, inAnyNamespace } from './access.ts'

const requestVolume = nodeRpc(MadeVolume)

const VOLUME_FILTER = { rowType: fieldTypeFromSchema(HostVolumeRecord) }

const READ_VOLUME: NamespacePermission = {
  name: 'host-volume-read',
  isGranted: (grants, namespace) => grants.allows(namespace, 'host-volume-read'),
}

/** Returns the routes of dynamic host volumes and their plugins. */
export function volumeEndpoints({ context, gateway }: NodeRouteDeps): readonly Endpoint[] {
  const { store } = context
  const plugins = new PluginCountCache(store.tables)
  const host: HostVolumeDeps = {
    context,
    gateway,
    writeQueue: new VolumeWriteQueue(),
    requestVolume: (nodeId, request, deadlineMs) =>
      requestVolume(gateway, { nodeId, request, deadlineMs }),
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
    write(v1Routes.createHostVolume, inAnyNamespace('host-volume-create'), (request) =>
      writeVolume(host, request, 'created'),
    ),
    write(v1Routes.registerHostVolume, inAnyNamespace('host-volume-register'), (request) =>
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

const mayListPlugins: AccessRule = ({ grants }) => grants.plugin('list')

/** Parses the parameter `type`; false for `csi`, of which there are no volumes or plugins. */
function includesHostVolumes(type = ''): Result<boolean, Refusal> {
  if (type === '' || type === 'host') return ok(true)
  if (type === 'csi') return ok(false)
  return err(refusal('invalid-input', 'type must be "host" or "csi"'))
}

function listVolumes(
  store: Store,
  request: V1Request<typeof v1Routes.listVolumes>,
): Result<WatchedRead, Refusal> {
  const { caller, query } = request
  const includesHost = includesHostVolumes(query.type)
  if (!includesHost.ok) return includesHost
  const { prefix = '', node_id: node, node_pool: pool, plugin_id: plugin } = query
  const isVisible = (row: VolumeRow): boolean =>
    includesHost.value &&
    row.ID.startsWith(prefix) &&
    (!node || row.NodeID === node) &&
    (!pool || row.NodePool === pool) &&
    (!plugin || row.PluginID === plugin) &&
    (request.namespace === '*' || row.Namespace === request.namespace) &&
    caller.grants.allows(row.Namespace, 'host-volume-read')
  const watched = watchTables(store, ['host_volumes'], requestScope(request, READ_VOLUME))
  return ok(
    listWatched(watched, () => ({
      scan: filterVisible(volumeScan(store, request.namespace, query), isVisible),
      query,
      filter: VOLUME_FILTER,
      stub: volumeStub,
    })),
  )
}

function volumeScan(
  { tables }: Store,
  namespace: string,
  { prefix = '', node_id: node }: V1Request<typeof v1Routes.listVolumes>['query'],
): RowScan<VolumeRow> {
  const { host_volumes: volumes } = tables
  if (node) return scanIndexByKey(volumes, { index: 'node', group: node }, NAMESPACED_KEY_CODEC)
  const low = namespace === '*' ? '' : namespacedKey(namespace, prefix)
  return scanByKey(volumes, low, NAMESPACED_KEY_CODEC)
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
  { caller, namespace, params }: V1Request<typeof v1Routes.readHostVolume>,
): WatchedRead {
  const key = namespacedKey(namespace, params.volume_id)
  const { host_volumes: volumes } = store.tables
  const scope = namespaceScope(namespace)
  return {
    index: () => volumes.modifyIndexOf(key) ?? store.indexIn('host_volumes', scope),
    watch: [{ table: 'host_volumes', key }],
    respond: () => {
      const row = volumes.find(key)
      return row === undefined
        ? err(HOST_VOLUME_NOT_FOUND)
        : ok(json(withAllocations(store, row, caller)))
    },
  }
}

/** Adds the mounting allocations if the caller may read jobs. */
function withAllocations({ tables }: Store, row: VolumeRow, { grants }: Caller): HostVolume {
  const mounters = grants.allows(row.Namespace, 'read-job') ? mountingAllocations(tables, row) : []
  return { ...row, Allocations: mounters.map((allocation) => allocationStub(allocation)) }
}

function listPlugins(
  plugins: PluginCountCache,
  { query }: V1Request<typeof v1Routes.listVolumePlugins>,
): Result<WatchedRead, Refusal> {
  const includesHost = includesHostVolumes(query.type)
  if (!includesHost.ok) return includesHost
  return ok({
    index: () => plugins.index,
    watch: [{ table: 'nodes' }],
    respond: async (yieldTurn) => {
      const all = includesHost.value ? await plugins.count(yieldTurn) : ok([])
      if (!all.ok) return all
      return ok(json(all.value.filter(({ ID }) => ID.startsWith(query.prefix ?? ''))))
    },
  })
}

/** Counts plugins over all nodes, in slices, and caches the result until a node changes. */
class PluginCountCache {
  readonly #nodes: Store['tables']['nodes']
  #cached: { readonly index: number; readonly plugins: readonly VolumePlugin[] } | undefined

  constructor({ nodes }: Store['tables']) {
    this.#nodes = nodes
  }

  get index(): number {
    return this.#nodes.lastIndex
  }

  async count(yieldTurn: () => Promise<void>): Promise<Result<readonly VolumePlugin[], Refusal>> {
    const { index } = this
    if (this.#cached?.index === index) return ok(this.#cached.plugins)
    const walk = { ...scanByKey(this.#nodes, ''), filterView: (row: object) => row }
    const unfiltered = { ...walk, filterOptions: {} }
    const nodes = await collectRows(unfiltered, undefined, sliceOptions(yieldTurn))
    if (!nodes.ok) return nodes
    const plugins = countPlugins(nodes.value)
    this.#cached = { index, plugins }
    return ok(plugins)
  }
}

interface PluginNode {
  readonly Attributes: Readonly<Record<string, string>>
  readonly Status: string
}

function countPlugins(nodes: readonly PluginNode[]): readonly VolumePlugin[] {
  const plugins = new Map<string, { versions: Set<string>; expected: number; healthy: number }>()
  for (const { Attributes, Status } of nodes)
    for (const [name, version] of volumePluginsOf(Attributes)) {
      const plugin = plugins.get(name) ?? { versions: new Set<string>(), expected: 0, healthy: 0 }
      plugins.set(name, plugin)
      plugin.versions.add(version)
      plugin.expected += 1
      if (Status === 'ready') plugin.healthy += 1
    }
  const sorted = [...plugins].toSorted(([a], [b]) => compareText(a, b))
  return sorted.map(([name, { versions, expected, healthy }]) => ({
    ID: name,
    Type: 'host',
    Versions: [...versions].toSorted(compareText),
    NodesExpected: expected,
    NodesHealthy: healthy,
  }))
}

async function writeVolume(
  host: HostVolumeDeps,
  request: WriteRequestOf<typeof v1Routes.createHostVolume>,
  origin: 'created' | 'registered',
): Promise<Result<WriteResult, Refusal>> {
  const body = requireBody(request.body)
  if (!body.ok) return body
  const { Volume } = body.value
  if (!Volume) return err(refusal('invalid-input', 'Volume must be in the body'))
  const input: HostVolumeInput = { ...Volume, Namespace: Volume.Namespace || request.namespace }
  const written = await writeHostVolume(host, request.caller, { input, origin })
  if (!written.ok) return written
  const { volume, index } = written.value
  const view = withAllocations(host.context.store, volume, request.caller)
  return ok({ index, response: json({ Volume: view, Warnings: '' }) })
}

async function deleteVolume(
  host: HostVolumeDeps,
  { caller, namespace, params, query }: WriteRequestOf<typeof v1Routes.deleteHostVolume>,
): Promise<Result<WriteResult, Refusal>> {
  const { volume_id: id } = params
  const deleted = await deleteHostVolume(host, caller, {
    namespace,
    id,
    force: query.force ?? false,
  })
  return deleted.ok ? ok({ index: deleted.value.index, response: EMPTY_RESPONSE }) : deleted
}
