import { Type } from 'typebox'
import { route } from '../route.ts'
import { Index, MapOf, Nullable, type Input, type Shape } from '../shape.ts'
import { denied, done, ok, refused, WRITE } from './answer.ts'
import { Base64 } from './identifier.ts'
import { blocking, BlockingQuery, common, prefix, WriteQuery } from './query.ts'

export const NamespaceCapabilities = Type.Object(
  {
    EnabledTaskDrivers: Nullable(Type.Array(Type.String())),
    DisabledTaskDrivers: Nullable(Type.Array(Type.String())),
    EnabledNetworkModes: Nullable(Type.Array(Type.String())),
    DisabledNetworkModes: Nullable(Type.Array(Type.String())),
  },
  { $id: 'NamespaceCapabilities', description: 'What jobs in the namespace may use.' },
)
export type NamespaceCapabilities = Shape<typeof NamespaceCapabilities>

export const NamespaceNodePools = Type.Object(
  {
    Default: Type.String(),
    Allowed: Nullable(Type.Array(Type.String())),
    Denied: Nullable(Type.Array(Type.String())),
  },
  { $id: 'NamespaceNodePools', description: 'Where jobs of the namespace may run.' },
)
export type NamespaceNodePools = Shape<typeof NamespaceNodePools>

/** Reference §4.17. */
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

const NamespacePath = Type.Object({ namespace_name: Type.String() })
const section = 'Namespaces'
const writeAnswers = {
  200: done('The namespace is stored.'),
  400: refused('The name is invalid or not the one in the path, or the description is too long.'),
  403: denied,
}

export const namespaceRoutes = {
  listNamespaces: route({
    id: 'listNamespaces',
    methods: ['GET'],
    path: '/v1/namespaces',
    summary: 'List the namespaces that the token may see.',
    section,
    query: Type.Object({ ...common, ...blocking, prefix }),
    answers: { 200: ok(Type.Array(Namespace), 'The namespaces, by name.') },
    blocking: true,
    needs: 'any capability in the namespace',
  }),
  readNamespace: route({
    id: 'readNamespace',
    methods: ['GET'],
    path: '/v1/namespace/:namespace_name',
    summary: 'Read one namespace.',
    section,
    params: NamespacePath,
    query: BlockingQuery,
    answers: {
      200: ok(Namespace, 'The namespace.'),
      403: denied,
      404: refused('`Namespace not found`'),
    },
    blocking: true,
    needs: 'any capability in the namespace',
  }),
  writeNamespace: route({
    id: 'writeNamespace',
    methods: WRITE,
    path: '/v1/namespace',
    region: 'authoritative',
    summary: 'Create or change a namespace.',
    section,
    query: WriteQuery,
    body: Namespace,
    answers: writeAnswers,
    needs: 'management',
  }),
  writeNamespaceByName: route({
    id: 'writeNamespaceByName',
    methods: WRITE,
    path: '/v1/namespace/:namespace_name',
    region: 'authoritative',
    summary: 'Create or change the namespace of this name.',
    section,
    params: NamespacePath,
    query: WriteQuery,
    body: Namespace,
    answers: writeAnswers,
    needs: 'management',
  }),
  deleteNamespace: route({
    id: 'deleteNamespace',
    methods: ['DELETE'],
    path: '/v1/namespace/:namespace_name',
    region: 'authoritative',
    summary: 'Delete a namespace that nothing uses.',
    section,
    params: NamespacePath,
    query: WriteQuery,
    answers: {
      200: done('The namespace is gone.'),
      400: refused('`can not delete default namespace`'),
      403: denied,
      404: refused('`Namespace not found`'),
      409: refused('The namespace has live jobs, live allocations or variables.'),
    },
    needs: 'management',
  }),
} as const
