import { Type } from 'typebox'
import { routes } from '../route.ts'
import { remove, blockingRead, write } from './define.ts'
import { Named, Index, type Input, type Infer } from '../schema.ts'
import { Base64, emptyResponse, jsonResponse, textError, Uuid } from './shared-schemas.ts'
import { prefixQuery } from './query.ts'

export const AclRolePolicyLink = Named('AclRolePolicyLink', { Name: Type.String() })
export type AclRolePolicyLink = Infer<typeof AclRolePolicyLink>

/** Lists show the same fields. */
export const AclRole = Named('AclRole', 'A named set of access policies.', {
  ID: Uuid(),
  Name: Type.String(),
  Description: Type.String(),
  Policies: Type.Array(AclRolePolicyLink),
  Hash: Base64(),
  CreateIndex: Index(),
  ModifyIndex: Index(),
})
export type AclRole = Infer<typeof AclRole>

export const AclRoleRequest = Named('AclRoleRequest', {
  ID: Type.String({ description: 'On update the one in the path.' }),
  Name: Type.String(),
  Description: Type.String(),
  Policies: Type.Array(AclRolePolicyLink),
})
export type AclRoleRequest = Input<Infer<typeof AclRoleRequest>>

const unknownRole = textError('`ACL role not found`')
const invalidRole = textError(
  'The role is invalid, its name taken, or one of its policies unknown.',
)

export const aclRoleRoutes = routes('ACL roles', {
  listAclRoles: blockingRead('/acl/roles', {
    summary: 'List roles.',
    query: { prefix: prefixQuery },
    returns: jsonResponse(Type.Array(AclRole), 'All for management; else those of the token.'),
    needs: 'any valid ACL token',
  }),
  createAclRole: write('/acl/role', {
    summary: 'Create a role.',
    region: 'authoritative',
    body: AclRoleRequest,
    returns: jsonResponse(AclRole, 'The role.'),
    answers: { 400: invalidRole },
    needs: 'management',
  }),
  updateAclRole: write('/acl/role/:role_id', {
    summary: 'Change a role.',
    region: 'authoritative',
    body: AclRoleRequest,
    returns: jsonResponse(AclRole, 'The role.'),
    answers: { 400: invalidRole, 404: unknownRole },
    needs: 'management',
  }),
  readAclRole: blockingRead('/acl/role/:role_id', {
    summary: 'Read one role.',
    returns: jsonResponse(AclRole, 'The role.'),
    answers: { 404: unknownRole },
    needs: 'management, or a token that has the role',
  }),
  readAclRoleByName: blockingRead('/acl/role/name/:role_name', {
    summary: 'Read the role of this name.',
    returns: jsonResponse(AclRole, 'The role.'),
    answers: { 404: unknownRole },
    needs: 'management, or a token that has the role',
  }),
  deleteAclRole: remove('/acl/role/:role_id', {
    summary: 'Delete a role.',
    region: 'authoritative',
    returns: emptyResponse('The role is deleted.'),
    answers: { 404: unknownRole },
    needs: 'management',
  }),
})
