import * as t from './shared-schemas.ts'
import { list, put, remove, blockingRead, routes } from './define.ts'

export const VariableLock = t.Named('VariableLock', {
  ID: t.String(),
  TTL: t.String({ description: 'A duration such as `15s`.' }),
  LockDelay: t.String({ description: 'A duration such as `15s`.' }),
})
export type VariableLock = t.Infer<typeof VariableLock>

const metadataFields = {
  Namespace: t.String(),
  Path: t.String(),
  Lock: t.Optional(VariableLock),
  CreateIndex: t.Index(),
  CreateTime: t.Nanoseconds(),
  ModifyIndex: t.Index(),
  ModifyTime: t.Nanoseconds(),
}

export const VariableMetadata = t.Named(
  'VariableMetadata',
  'A variable without its values.',
  metadataFields,
)
export type VariableMetadata = t.Infer<typeof VariableMetadata>

export const Variable = t.Named('Variable', 'Named texts that are stored encrypted.', {
  ...metadataFields,
  Items: t.MapOf(t.String()),
})
export type Variable = t.Infer<typeof Variable>

export const VariableRequest = t.Named('VariableRequest', {
  Namespace: t.String(),
  Path: t.String(),
  Items: t.MapOf(t.String()),
  Lock: VariableLock,
})
export type VariableRequest = t.Input<t.Infer<typeof VariableRequest>>

const cas = t.TextParameter(
  'Only if `ModifyIndex` is this number; 0 means that it must not exist yet.',
)
const WrittenVariable = t.Object({ ...metadataFields, Items: t.Optional(t.MapOf(t.String())) })
const conflict = t.jsonResponse(
  WrittenVariable,
  'Another index: the current variable, with its values if the token may read them.',
)

export const variableRoutes = routes('Variables', {
  listVariables: list('/vars', {
    summary: 'List variables, without their values.',
    cost: 2,
    returns: t.jsonResponse(
      t.Array(VariableMetadata),
      'Variables that the token may list, by path.',
    ),
    needs: 'variables:list',
  }),
  readVariable: blockingRead('/var/:path', {
    summary: 'Read one variable.',
    returns: t.jsonResponse(Variable, 'The variable.'),
    needs: 'variables:read',
  }),
  writeVariable: put('/var/:path', {
    summary: 'Create or change a variable, or take, keep or give up its lock.',
    growsState: { unlessQuery: ['lock-renew', 'lock-release'] },
    query: {
      cas,
      'lock-acquire': t.TextParameter(
        'Take the lock: asked for by being there, whatever its value.',
      ),
      'lock-renew': t.TextParameter('Keep the lock: asked for by being there.'),
      'lock-release': t.TextParameter('Give up the lock: asked for by being there.'),
    },
    body: VariableRequest,
    returns: t.jsonResponse(
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
    acceptsUnknown: true,
    needs: 'variables:destroy',
  }),
})
