import { Type } from 'typebox'
import { routes } from '../route.ts'
import { list, put, remove, blockingRead } from './define.ts'
import { Named, Index, MapOf, Nanoseconds, type Input, type Infer } from '../schema.ts'
import { jsonResponse } from './shared-schemas.ts'
import { TextParameter } from './query.ts'

export const VariableLock = Named('VariableLock', {
  ID: Type.String(),
  TTL: Type.String({ description: 'A duration such as `15s`.' }),
  LockDelay: Type.String({ description: 'A duration such as `15s`.' }),
})
export type VariableLock = Infer<typeof VariableLock>

const metadataFields = {
  Namespace: Type.String(),
  Path: Type.String(),
  Lock: Type.Optional(VariableLock),
  CreateIndex: Index(),
  CreateTime: Nanoseconds(),
  ModifyIndex: Index(),
  ModifyTime: Nanoseconds(),
}

export const VariableMetadata = Named(
  'VariableMetadata',
  'A variable without its values.',
  metadataFields,
)
export type VariableMetadata = Infer<typeof VariableMetadata>

export const Variable = Named('Variable', 'Named texts that are stored encrypted.', {
  ...metadataFields,
  Items: MapOf(Type.String()),
})
export type Variable = Infer<typeof Variable>

export const VariableRequest = Named('VariableRequest', {
  Namespace: Type.String(),
  Path: Type.String(),
  Items: MapOf(Type.String()),
  Lock: VariableLock,
})
export type VariableRequest = Input<Infer<typeof VariableRequest>>

const cas = TextParameter(
  'Only if `ModifyIndex` is this number; 0 means that it must not exist yet.',
)
const WrittenVariable = Type.Object({
  ...metadataFields,
  Items: Type.Optional(MapOf(Type.String())),
})
const conflict = jsonResponse(
  WrittenVariable,
  'Another index: the current variable, with its values if the token may read them.',
)

export const variableRoutes = routes('Variables', {
  listVariables: list('/vars', {
    summary: 'List variables, without their values.',
    cost: 2,
    returns: jsonResponse(
      Type.Array(VariableMetadata),
      'Variables that the token may list, by path.',
    ),
    needs: 'variables:list',
  }),
  readVariable: blockingRead('/var/:path', {
    summary: 'Read one variable.',
    returns: jsonResponse(Variable, 'The variable.'),
    errors: { 404: '`variable not found`' },
    needs: 'variables:read',
  }),
  writeVariable: put('/var/:path', {
    summary: 'Create or change a variable, or take, keep or give up its lock.',
    growsState: { unlessQuery: ['lock-renew', 'lock-release'] },
    query: {
      cas,
      'lock-acquire': TextParameter('Take the lock: asked for by being there, whatever its value.'),
      'lock-renew': TextParameter('Keep the lock: asked for by being there.'),
      'lock-release': TextParameter('Give up the lock: asked for by being there.'),
    },
    body: VariableRequest,
    returns: jsonResponse(
      WrittenVariable,
      'The variable; without its values when only its lock was kept or given up.',
    ),
    answers: { 409: conflict },
    errors: {
      400: 'The path, the items or `cas` are invalid, or the items are too large.',
      404: '`variable not found`: the lock of what is not there.',
    },
    needs: 'variables:write',
  }),
  deleteVariable: remove('/var/:path', {
    summary: 'Delete a variable.',
    query: { cas },
    answers: { 204: { description: 'The variable is deleted.' }, 409: conflict },
    errors: { 400: '`cas` is not a number.' },
    needs: 'variables:destroy',
  }),
})
