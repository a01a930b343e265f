import { Type } from 'typebox'
import { route } from '../route.ts'
import { Index, MapOf, Nanoseconds, type Input, type Shape } from '../shape.ts'
import { denied, ok, PUT_OR_POST, refused } from './answer.ts'
import { BlockingQuery, common, ListQuery, Text } from './query.ts'

export const VariableLock = Type.Object(
  {
    ID: Type.String(),
    TTL: Type.String({ description: 'A duration such as `15s`.' }),
    LockDelay: Type.String({ description: 'A duration such as `15s`.' }),
  },
  { $id: 'VariableLock' },
)
export type VariableLock = Shape<typeof VariableLock>

const metadataFields = {
  Namespace: Type.String(),
  Path: Type.String(),
  Lock: Type.Optional(VariableLock),
  CreateIndex: Index(),
  CreateTime: Nanoseconds(),
  ModifyIndex: Index(),
  ModifyTime: Nanoseconds(),
}

/** Reference §3.6. */
export const VariableMetadata = Type.Object(metadataFields, {
  $id: 'VariableMetadata',
  description: 'A variable without its values.',
})
export type VariableMetadata = Shape<typeof VariableMetadata>

/** Reference §8.9. */
export const Variable = Type.Object(
  { ...metadataFields, Items: MapOf(Type.String()) },
  { $id: 'Variable', description: 'Named texts that are stored encrypted.' },
)
export type Variable = Shape<typeof Variable>

export const VariableRequest = Type.Object(
  {
    Namespace: Type.String(),
    Path: Type.String(),
    Items: MapOf(Type.String()),
    Lock: VariableLock,
  },
  { $id: 'VariableRequest' },
)
export type VariableRequest = Input<Shape<typeof VariableRequest>>

/** Paths of variables hold slashes, so the parameter takes the rest of the path. */
const VariablePath = Type.Object({ path: Type.String({ description: 'May hold slashes.' }) })
const section = 'Variables'
const cas = Text('Only if `ModifyIndex` is this number; 0 means that it must not exist yet.')
const conflict = ok(
  Type.Object({ ...metadataFields, Items: Type.Optional(MapOf(Type.String())) }),
  'Another index: the current variable, with its values if the token may read them.',
)

export const variableRoutes = {
  listVariables: route({
    id: 'listVariables',
    methods: ['GET'],
    path: '/v1/vars',
    cost: 2,
    summary: 'List variables, without their values.',
    section,
    query: ListQuery,
    answers: {
      200: ok(Type.Array(VariableMetadata), 'Those that the token may list, by path.'),
      403: denied,
    },
    blocking: true,
    needs: 'variables:list',
  }),
  readVariable: route({
    id: 'readVariable',
    methods: ['GET'],
    path: '/v1/var/:path',
    summary: 'Read one variable.',
    section,
    params: VariablePath,
    query: BlockingQuery,
    answers: {
      200: ok(Variable, 'The variable.'),
      403: denied,
      404: refused('`variable not found`'),
    },
    blocking: true,
    needs: 'variables:read',
  }),
  writeVariable: route({
    id: 'writeVariable',
    methods: PUT_OR_POST,
    path: '/v1/var/:path',
    growsState: { unlessQuery: ['lock-renew', 'lock-release'] },
    summary: 'Create or change a variable, or take, keep or give up its lock.',
    section,
    params: VariablePath,
    query: Type.Object({
      ...common,
      cas,
      'lock-acquire': Text('Take the lock: asked for by being there, whatever its value.'),
      'lock-renew': Text('Keep the lock: asked for by being there.'),
      'lock-release': Text('Give up the lock: asked for by being there.'),
    }),
    body: VariableRequest,
    answers: {
      200: ok(Variable, 'The variable.'),
      400: refused('The path, the items or `cas` are invalid, or the items are too large.'),
      403: denied,
      404: refused('`variable not found`: the lock of what is not there.'),
      409: conflict,
    },
    needs: 'variables:write',
  }),
  deleteVariable: route({
    id: 'deleteVariable',
    methods: ['DELETE'],
    path: '/v1/var/:path',
    summary: 'Delete a variable.',
    section,
    params: VariablePath,
    query: Type.Object({ ...common, cas }),
    answers: {
      204: { description: 'The variable is gone.' },
      400: refused('`cas` is not a number.'),
      403: denied,
      409: conflict,
    },
    needs: 'variables:destroy',
  }),
} as const
