import type { AclToken, AclTokenStub } from '@reeve/contract'
import { tokenHash } from '../../acl/index.ts'
import { ZERO_TIME } from '@reeve/kit/duration.ts'
import { aclTokenStub, aclTokenView, type AclTokenRow } from '../../model/index.ts'
import type { WorkloadContext } from '../context.ts'

/** The accessor, and the policy, of requests without a token. */
export const ANONYMOUS = 'anonymous'

/** The token with its secret, for those who may see it: its holder and management. */
export function tokenWithSecret(context: WorkloadContext, row: AclTokenRow): AclToken {
  return aclTokenView(withRoleNames(context, row), context.sealer.open(row.SealedSecret))
}

/** The token as lists show it. */
export function tokenStub(context: WorkloadContext, row: AclTokenRow): AclTokenStub {
  return aclTokenStub(withRoleNames(context, row))
}

/** What filters see of a token: everything but the secret. */
export function tokenFilterView(context: WorkloadContext, row: AclTokenRow): AclToken {
  return aclTokenView(withRoleNames(context, row), '')
}

/** Links are stored by id only, so a role may be renamed; one that is gone is left out. */
function withRoleNames({ store }: WorkloadContext, row: AclTokenRow): AclTokenRow {
  if (row.Roles === null || row.Roles.length === 0) return row
  const Roles = row.Roles.flatMap(({ ID }) => {
    const role = store.tables.acl_roles.find(ID)
    return role === undefined ? [] : [{ ID, Name: role.Name }]
  })
  return { ...row, Roles }
}

const ANONYMOUS_RIGHTS = {
  Name: 'Anonymous Token',
  Type: 'client',
  Policies: [ANONYMOUS],
  Roles: null,
  Global: false,
} as const

/** What stands for requests without a token. It is never stored. */
export const ANONYMOUS_TOKEN: AclToken = {
  ...ANONYMOUS_RIGHTS,
  AccessorID: ANONYMOUS,
  SecretID: '',
  Hash: tokenHash(ANONYMOUS_RIGHTS),
  CreateTime: ZERO_TIME,
  ExpirationTime: null,
  ExpirationTTL: '',
  CreateIndex: 0,
  ModifyIndex: 0,
}
