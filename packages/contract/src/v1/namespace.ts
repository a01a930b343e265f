import { Type } from 'typebox'
import { routes } from '../route.ts'
import { remove, watch, write } from './define.ts'
import { Index, MapOf, Nullable, type Input, type Shape } from '../shape.ts'
import { denied, done, ok, refused } from './answer.ts'
import { Base64 } from './identifier.ts'
import { prefix } from './query.ts'

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
export type Namespace = Shape<typeof Namespace>
export type NamespaceRequest = Input<Namespace>

const writeAnswers = {
  200: done('The namespace is stored.'),
  400: refused('The name is invalid or not the one in the path, or the description is too long.'),
  403: denied,
}

export const namespaceRoutes = routes('Namespaces', {
  listNamespaces: watch('/namespaces', {
    summary: 'List the namespaces that the token may see.',
    query: { prefix },
    returns: ok(Type.Array(Namespace), 'The namespaces, by name.'),
    needs: 'any capability in the namespace',
  }),
  readNamespace: watch('/namespace/:namespace_name', {
    summary: 'Read one namespace.',
    returns: ok(Namespace, 'The namespace.'),
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
    returns: done('The namespace is deleted.'),
    errors: {
      400: '`can not delete default namespace`',
      404: '`Namespace not found`',
      409: 'The namespace has live jobs, live allocations or variables.',
    },
    needs: 'management',
  }),
})
