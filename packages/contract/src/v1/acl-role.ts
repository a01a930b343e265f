import * as t from './shared-schemas.ts'
import { remove, blockingRead, write, routes } from './define.ts'

export const AclRolePolicyLink = t.Named('AclRolePolicyLink', { Name: t.String() })
export type AclRolePolicyLink = t.Infer<typeof AclRolePolicyLink>

/** Lists show the same fields. */
export const AclRole = t.Named('AclRole', 'A named set of access policies.', {
  ID: t.Uuid(),
  Name: t.String(),
  Description: t.String(),
  Policies: t.Array(AclRolePolicyLink),
  Hash: t.Base64(),
  CreateIndex: t.Index(),
  ModifyIndex: t.Index(),
})
export type AclRole = t.Infer<typeof AclRole>

export const AclRoleRequest = t.Named('AclRoleRequest', {
  ID: t.String({ description: 'On update the one in the path.' }),
  Name: t.String(),
  Description: t.String(),
  Policies: t.Array(AclRolePolicyLink),
})
export type AclRoleRequest = t.Input<t.Infer<typeof AclRoleRequest>>

const invalidRole = t.textError(
  'The role is invalid, its name taken, or one of its policies unknown.',
)

export const aclRoleRoutes = routes('ACL roles', {
  listAclRoles: blockingRead('/acl/roles', {
    summary: 'List roles.',
    query: { prefix: t.prefixQuery },
    returns: t.jsonResponse(t.Array(AclRole), 'All for management; else those of the token.'),
    needs: 'any valid ACL token',
  }),
  createAclRole: write('/acl/role', {
    summary: 'Create a role.',
    region: 'authoritative',
    body: AclRoleRequest,
    returns: t.jsonResponse(AclRole, 'The role.'),
    answers: { 400: invalidRole },
    needs: 'management',
  }),
  updateAclRole: write('/acl/role/:role_id', {
    summary: 'Change a role.',
    region: 'authoritative',
    body: AclRoleRequest,
    returns: t.jsonResponse(AclRole, 'The role.'),
    answers: { 400: invalidRole },
    needs: 'management',
  }),
  readAclRole: blockingRead('/acl/role/:role_id', {
    summary: 'Read one role.',
    returns: t.jsonResponse(AclRole, 'The role.'),
    needs: 'management, or a token that has the role',
  }),
  readAclRoleByName: blockingRead('/acl/role/name/:role_name', {
    summary: 'Read the role of this name.',
    returns: t.jsonResponse(AclRole, 'The role.'),
    needs: 'management, or a token that has the role',
  }),
  deleteAclRole: remove('/acl/role/:role_id', {
    summary: 'Delete a role.',
    region: 'authoritative',
    returns: t.emptyResponse('The role is deleted.'),
    needs: 'management',
  }),
})
