import { Type } from 'typebox'
import { route } from '../route.ts'
import { Index, type Input, type Shape } from '../shape.ts'
import { denied, done, ok, refused, WRITE } from './answer.ts'
import { Base64, Uuid } from './identifier.ts'
import { blocking, BlockingQuery, common, prefix, WriteQuery } from './query.ts'

export const AclRolePolicyLink = Type.Object({ Name: Type.String() }, { $id: 'AclRolePolicyLink' })
export type AclRolePolicyLink = Shape<typeof AclRolePolicyLink>

/** Reference §4.14. Lists show the same fields. */
export const AclRole = Type.Object(
  {
    ID: Uuid(),
    Name: Type.String(),
    Description: Type.String(),
    Policies: Type.Array(AclRolePolicyLink),
    Hash: Base64(),
    CreateIndex: Index(),
    ModifyIndex: Index(),
  },
  { $id: 'AclRole', description: 'A named set of access policies.' },
)
export type AclRole = Shape<typeof AclRole>

export const AclRoleRequest = Type.Object(
  {
    ID: Type.String({ description: 'On update the one in the path.' }),
    Name: Type.String(),
    Description: Type.String(),
    Policies: Type.Array(AclRolePolicyLink),
  },
  { $id: 'AclRoleRequest' },
)
export type AclRoleRequest = Input<Shape<typeof AclRoleRequest>>

const AclRolePath = Type.Object({ role_id: Type.String() })
const section = 'ACL roles'
const unknownRole = refused('`ACL role not found`')
const invalidRole = refused('The role is invalid, its name taken, or one of its policies unknown.')

export const aclRoleRoutes = {
  listAclRoles: route({
    id: 'listAclRoles',
    methods: ['GET'],
    path: '/v1/acl/roles',
    summary: 'List roles.',
    section,
    query: Type.Object({ ...common, ...blocking, prefix }),
    answers: {
      200: ok(Type.Array(AclRole), 'All for management; else those of the token.'),
      403: denied,
    },
    blocking: true,
    needs: 'any valid ACL token',
  }),
  createAclRole: route({
    id: 'createAclRole',
    methods: WRITE,
    path: '/v1/acl/role',
    region: 'authoritative',
    summary: 'Create a role.',
    section,
    query: WriteQuery,
    body: AclRoleRequest,
    answers: { 200: ok(AclRole, 'The role.'), 400: invalidRole, 403: denied },
    needs: 'management',
  }),
  updateAclRole: route({
    id: 'updateAclRole',
    methods: WRITE,
    path: '/v1/acl/role/:role_id',
    region: 'authoritative',
    summary: 'Change a role.',
    section,
    params: AclRolePath,
    query: WriteQuery,
    body: AclRoleRequest,
    answers: { 200: ok(AclRole, 'The role.'), 400: invalidRole, 403: denied, 404: unknownRole },
    needs: 'management',
  }),
  readAclRole: route({
    id: 'readAclRole',
    methods: ['GET'],
    path: '/v1/acl/role/:role_id',
    summary: 'Read one role.',
    section,
    params: AclRolePath,
    query: BlockingQuery,
    answers: { 200: ok(AclRole, 'The role.'), 403: denied, 404: unknownRole },
    blocking: true,
    needs: 'management, or a token that has the role',
  }),
  readAclRoleByName: route({
    id: 'readAclRoleByName',
    methods: ['GET'],
    path: '/v1/acl/role/name/:role_name',
    summary: 'Read the role of this name.',
    section,
    params: Type.Object({ role_name: Type.String() }),
    query: BlockingQuery,
    answers: { 200: ok(AclRole, 'The role.'), 403: denied, 404: unknownRole },
    blocking: true,
    needs: 'management, or a token that has the role',
  }),
  deleteAclRole: route({
    id: 'deleteAclRole',
    methods: ['DELETE'],
    path: '/v1/acl/role/:role_id',
    region: 'authoritative',
    summary: 'Delete a role.',
    section,
    params: AclRolePath,
    query: WriteQuery,
    answers: { 200: done('The role is gone.'), 403: denied, 404: unknownRole },
    needs: 'management',
  }),
} as const
