import { Type } from 'typebox'
import { routes } from '../route.ts'
import { remove, blockingRead, write } from './define.ts'
import { Index, MapOf, Nullable, type Input, type Infer } from '../schema.ts'
import {
  permissionDenied,
  emptyResponse,
  jsonResponse,
  textError,
  Base64,
} from './shared-schemas.ts'
import { prefixQuery } from './query.ts'

export const NamespaceCapabilities = Type.Object(
  {
    EnabledTaskDrivers: Nullable(Type.Array(Type.String())),
    DisabledTaskDrivers: Nullable(Type.Array(Type.String())),
    EnabledNetworkModes: Nullable(Type.Array(Type.String())),
    DisabledNetworkModes: Nullable(Type.Array(Type.String())),
  },
  { $id: 'NamespaceCapabilities', description: 'Features that jobs in the namespace may use.' },
)

export const NamespaceNodePools = Type.Object(
  {
    Default: Type.String(),
    Allowed: Nullable(Type.Array(Type.String())),
    Denied: Nullable(Type.Array(Type.String())),
  },
  { $id: 'NamespaceNodePools', description: 'Where jobs of the namespace may run.' },
)

export const Namespace = Type.Object(
  {
    Name: Type.String(),
    Description: Type.String(),
    Quota: Type.String(),
    Capabilities: Nullable(NamespaceCapabilities),
    NodePoolConfiguration: Nullable(NamespaceNodePools),
    Meta: Nullable(MapOf(Type.String())),
    Hash: Base64(),
    CreateIndex: Index(),
    ModifyIndex: Index(),
  },
  { $id: 'Namespace', description: 'A part of the system with its own jobs and access rules.' },
)
export type Namespace = Infer<typeof Namespace>
export type NamespaceRequest = Input<Namespace>

const writeAnswers = {
  200: emptyResponse('The namespace is stored.'),
  400: textError('The name is invalid or not the one in the path, or the description is too long.'),
  403: permissionDenied,
}

export const namespaceRoutes = routes('Namespaces', {
  listNamespaces: blockingRead('/namespaces', {
    summary: 'List the namespaces that the token may see.',
    query: { prefix: prefixQuery },
    returns: jsonResponse(Type.Array(Namespace), 'The namespaces, by name.'),
    needs: 'any capability in the namespace',
  }),
  readNamespace: blockingRead('/namespace/:namespace_name', {
    summary: 'Read one namespace.',
    returns: jsonResponse(Namespace, 'The namespace.'),
    errors: { 404: '`Namespace not found`' },
    needs: 'any capability in the namespace',
  }),
  writeNamespace: write('/namespace', {
    summary: 'Create or change a namespace.',
    region: 'authoritative',
    body: Namespace,
    answers: writeAnswers,
    needs: 'management',
  }),
  writeNamespaceByName: write('/namespace/:namespace_name', {
    summary: 'Create or change the namespace of this name.',
    region: 'authoritative',
    body: Namespace,
    answers: writeAnswers,
    needs: 'management',
  }),
  deleteNamespace: remove('/namespace/:namespace_name', {
    summary: 'Delete a namespace that nothing uses.',
    region: 'authoritative',
    returns: emptyResponse('The namespace is deleted.'),
    errors: {
      400: '`can not delete default namespace`',
      404: '`Namespace not found`',
      409: 'The namespace has live jobs, live allocations or variables.',
    },
    needs: 'management',
  }),
})
