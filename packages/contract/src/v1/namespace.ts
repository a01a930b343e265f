import * as t from './shared-schemas.ts'
import { remove, blockingRead, write, routes } from './define.ts'

export const NamespaceCapabilities = t.Object(
  {
    EnabledTaskDrivers: t.Nullable(t.Array(t.String())),
    DisabledTaskDrivers: t.Nullable(t.Array(t.String())),
    EnabledNetworkModes: t.Nullable(t.Array(t.String())),
    DisabledNetworkModes: t.Nullable(t.Array(t.String())),
  },
  { $id: 'NamespaceCapabilities', description: 'Features that jobs in the namespace may use.' },
)

export const NamespaceNodePools = t.Object(
  {
    Default: t.String(),
    Allowed: t.Nullable(t.Array(t.String())),
    Denied: t.Nullable(t.Array(t.String())),
  },
  { $id: 'NamespaceNodePools', description: 'Where jobs of the namespace may run.' },
)

export const Namespace = t.Object(
  {
    Name: t.String(),
    Description: t.String(),
    Quota: t.String(),
    Capabilities: t.Nullable(NamespaceCapabilities),
    NodePoolConfiguration: t.Nullable(NamespaceNodePools),
    Meta: t.Nullable(t.MapOf(t.String())),
    Hash: t.Base64(),
    CreateIndex: t.Index(),
    ModifyIndex: t.Index(),
  },
  { $id: 'Namespace', description: 'A part of the system with its own jobs and access rules.' },
)
export type Namespace = t.Infer<typeof Namespace>
export type NamespaceRequest = t.Input<Namespace>

const stored = t.emptyResponse('The namespace is stored.')
const writeErrors = {
  400: 'The name is invalid or not the one in the path, or the description is too long.',
}

export const namespaceRoutes = routes('Namespaces', {
  listNamespaces: blockingRead('/namespaces', {
    summary: 'List the namespaces that the token may see.',
    query: { prefix: t.prefixQuery },
    returns: t.jsonResponse(t.Array(Namespace), 'The namespaces, by name.'),
    needs: 'any capability in the namespace',
  }),
  readNamespace: blockingRead('/namespace/:namespace_name', {
    summary: 'Read one namespace.',
    returns: t.jsonResponse(Namespace, 'The namespace.'),
    needs: 'any capability in the namespace',
  }),
  writeNamespace: write('/namespace', {
    summary: 'Create or change a namespace.',
    region: 'authoritative',
    body: Namespace,
    returns: stored,
    errors: writeErrors,
    needs: 'management',
  }),
  writeNamespaceByName: write('/namespace/:namespace_name', {
    summary: 'Create or change the namespace of this name.',
    region: 'authoritative',
    body: Namespace,
    returns: stored,
    errors: writeErrors,
    acceptsUnknown: true,
    needs: 'management',
  }),
  deleteNamespace: remove('/namespace/:namespace_name', {
    summary: 'Delete a namespace that nothing uses.',
    region: 'authoritative',
    returns: t.emptyResponse('The namespace is deleted.'),
    errors: {
      400: '`can not delete default namespace`',
      409: 'The namespace has live jobs, live allocations or variables.',
    },
    needs: 'management',
  }),
})
