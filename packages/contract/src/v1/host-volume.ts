import * as t from './shared-schemas.ts'
import { list, put, remove, blockingRead, routes } from './define.ts'
import { AllocationStub } from './allocation.ts'
import { Constraint } from './constraint.ts'

export const HOST_VOLUME_STATES = ['pending', 'ready', 'unavailable'] as const
export type HostVolumeState = (typeof HOST_VOLUME_STATES)[number]

export const HOST_VOLUME_ACCESS_MODES = [
  'single-node-reader-only',
  'single-node-writer',
  'single-node-single-writer',
  'single-node-multi-writer',
] as const
export type HostVolumeAccessMode = (typeof HOST_VOLUME_ACCESS_MODES)[number]

export const VOLUME_ATTACHMENT_MODES = ['file-system', 'block-device'] as const
export type VolumeAttachmentMode = (typeof VOLUME_ATTACHMENT_MODES)[number]

/** The plugin that every agent has: it makes a directory. */
export const BUILT_IN_VOLUME_PLUGIN = 'mkdir'

/** A node says which volume plugins it has by attributes of the form `<prefix><name>.version`. */
export const VOLUME_PLUGIN_ATTRIBUTE = {
  prefix: 'plugins.host_volume.',
  suffix: '.version',
} as const

export const VolumeCapability = t.Named('VolumeCapability', {
  AttachmentMode: t.String({ description: '`file-system` or `block-device`.' }),
  AccessMode: t.String({
    description:
      '`single-node-reader-only`, `single-node-writer`, `single-node-single-writer` or ' +
      '`single-node-multi-writer`.',
  }),
})
export type VolumeCapability = t.Infer<typeof VolumeCapability>

const stubFields = {
  Namespace: t.String(),
  ID: t.String({ description: 'A UUID that the servers choose.' }),
  Name: t.String({ description: 'What the `source` of a group names; unique on its node.' }),
  PluginID: t.String({ description: 'The plugin that made it; empty when it was registered.' }),
  NodePool: t.String(),
  NodeID: t.String(),
  CapacityBytes: t.Integer({ minimum: 0, description: 'As the plugin has made it.' }),
  State: t.String({ description: '`pending`, `ready` or `unavailable`.' }),
  CreateIndex: t.Index(),
  CreateTime: t.Nanoseconds(),
  ModifyIndex: t.Index(),
  ModifyTime: t.Nanoseconds(),
}

const volumeFields = {
  ...stubFields,
  Constraints: t.Nullable(
    t.Array(Constraint, { description: 'What the node of a new volume must meet.' }),
  ),
  RequestedCapacityMinBytes: t.Integer({ minimum: 0 }),
  RequestedCapacityMaxBytes: t.Integer({ minimum: 0, description: '0 is any size.' }),
  RequestedCapabilities: t.Nullable(
    t.Array(VolumeCapability, { description: 'How groups may use it; any of these.' }),
  ),
  Parameters: t.Nullable(t.MapOf(t.String())),
  HostPath: t.String({ description: 'Where it is on its node.' }),
}

export const HostVolumeStub = t.Named(
  'HostVolumeStub',
  'A dynamic host volume in a list.',
  stubFields,
)
export type HostVolumeStub = t.Infer<typeof HostVolumeStub>

export const HostVolumeRecord = t.Object(volumeFields, {
  $id: 'HostVolumeRecord',
  description: 'A directory of one node that jobs may mount, made or registered by a request.',
})
type RecordShape = t.Infer<typeof HostVolumeRecord>

/** As it is stored: the state is one of those that there are. */
export type HostVolumeRecord = Omit<RecordShape, 'State'> & { readonly State: HostVolumeState }

export const HostVolume = t.Named('HostVolume', 'A dynamic host volume with what uses it.', {
  ...volumeFields,
  Allocations: t.Array(AllocationStub, { description: 'Those that mount it and have not ended.' }),
})
export type HostVolume = t.Infer<typeof HostVolume>

export const HostVolumeRequest = t.Named('HostVolumeRequest', {
  Volume: HostVolumeRecord,
  PolicyOverride: t.Boolean({ description: 'Not used.' }),
})
/** A volume in a request; omitted fields have their defaults. */
export type HostVolumeInput = t.Input<t.DeepReadonly<RecordShape>>

export const HostVolumeResponse = t.Named('HostVolumeResponse', {
  Volume: HostVolume,
  Warnings: t.String(),
})

export const VolumePlugin = t.Named('VolumePlugin', {
  ID: t.String({ description: 'The `PluginID` of volumes that it makes.' }),
  Type: t.String({ description: '`host`.' }),
  Versions: t.Array(t.String(), { description: 'Those that nodes have, sorted.' }),
  NodesExpected: t.Integer({ description: 'Nodes that have it.' }),
  NodesHealthy: t.Integer({ description: 'Of those, the ones that are ready.' }),
})
export type VolumePlugin = t.Infer<typeof VolumePlugin>

const type = t.TextParameter('`host`, or `csi`, of which there are none.')
const nodeRefusals = {
  404: t.textError('The volume that is changed or its node is unknown.'),
  504: t.nodeTimeout,
}

export const hostVolumeRoutes = routes('Volumes', {
  listVolumes: list('/volumes', {
    summary: 'List dynamic host volumes.',
    cost: 2,
    query: {
      type,
      node_id: t.TextParameter('Those of this node.'),
      node_pool: t.TextParameter('Those of nodes of this pool.'),
      plugin_id: t.TextParameter('Those of this plugin.'),
    },
    returns: t.jsonResponse(t.Array(HostVolumeStub), 'Those that the token may read, by id.'),
    errors: { 400: 'The type is unknown, or the filter is wrong.' },
    needs: 'namespace:host-volume-read',
  }),
  listVolumePlugins: blockingRead('/plugins', {
    summary: 'List the plugins by which nodes make volumes.',
    cost: 2,
    query: { type, prefix: t.prefixQuery },
    returns: t.jsonResponse(t.Array(VolumePlugin), 'The plugins, by name.'),
    errors: { 400: 'The type is unknown.' },
    needs: 'plugin:list',
  }),
  readHostVolume: blockingRead('/volume/host/:volume_id', {
    summary: 'Read one dynamic host volume.',
    returns: t.jsonResponse(HostVolume, 'The volume.'),
    needs: 'namespace:host-volume-read',
  }),
  createHostVolume: put('/volume/host/create', {
    summary: 'Make a volume on a node by one of its plugins, or change one.',
    answeredBy: 'leader',
    body: HostVolumeRequest,
    returns: t.jsonResponse(HostVolumeResponse, 'The volume, on the node that was chosen for it.'),
    answers: nodeRefusals,
    errors: {
      400: 'The volume is invalid, no node takes it, or its plugin has failed.',
      409: 'The volume was changed meanwhile.',
    },
    needs: 'namespace:host-volume-create',
  }),
  registerHostVolume: put('/volume/host/register', {
    summary: 'Make a directory that a node has already a volume.',
    answeredBy: 'leader',
    body: HostVolumeRequest,
    returns: t.jsonResponse(HostVolumeResponse, 'The volume.'),
    answers: nodeRefusals,
    errors: {
      400: 'The volume is invalid, or its node does not have the directory.',
      409: 'The volume was changed meanwhile.',
    },
    needs: 'namespace:host-volume-register',
  }),
  deleteHostVolume: remove('/volume/host/:volume_id', {
    summary: 'Delete a volume that nothing mounts, with its data when a plugin made it.',
    answeredBy: 'leader',
    query: {
      force: t.FlagParameter(
        'Delete even if the node is unreachable; its data may remain on the node.',
      ),
    },
    returns: t.emptyResponse('The volume is deleted.'),
    answers: { 504: t.nodeTimeout },
    errors: { 400: 'Its plugin has failed.', 409: 'Allocations mount the volume.' },
    needs: 'namespace:host-volume-delete',
  }),
  deleteHostVolumeByAction: remove('/volume/host/:volume_id/delete', {
    summary: 'The same as without `/delete`.',
    answeredBy: 'leader',
    query: { force: t.FlagParameter('As without `/delete`.') },
    returns: t.emptyResponse('The volume is deleted.'),
    answers: { 504: t.nodeTimeout },
    errors: { 400: 'Its plugin has failed.', 409: 'Allocations mount the volume.' },
    needs: 'namespace:host-volume-delete',
  }),
})
