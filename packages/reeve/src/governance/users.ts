import type { v2 } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  isEqual,
  NOT_FOUND,
  type AttributeProblem,
  type GovernanceRefusal,
  type UserRow,
} from '../model/index.ts'
import { normalizeName, put, remove, scopedKey, type Change } from '../state/index.ts'
import {
  findPublicUser,
  isReservedUsername,
  isSiteAdministrator,
  type GovernanceCaller,
  type PublicUser,
} from './caller.ts'
import { commitWrite } from './commit.ts'
import { SITE_SCOPE, type GovernanceContext } from './context.ts'
import { newId } from './ids.ts'
import type { ListPage } from './list-index.ts'
import { isLastOwner, deleteMembershipChanges } from './cascade.ts'

/**
 * Creates a user. There is no sign-up: the site administrator creates users and hands out their
 * first tokens.
 */
export async function createUser(
  context: GovernanceContext,
  caller: GovernanceCaller,
  attributes: v2.UserCreateRequest['data']['attributes'],
): Promise<Result<UserRow, GovernanceRefusal>> {
  if (!isSiteAdministrator(caller)) return err(NOT_FOUND)
  const { username, email } = attributes
  const problems = userProblems(context, { username, email })
  if (problems.length > 0) return err({ code: 'invalid', problems })
  const user: UserRow = {
    id: newId(context.ids, 'users'),
    username,
    email,
    isAdmin: attributes['is-admin'] ?? false,
    createdMs: context.clock.nowMs(),
  }
  await commitWrite(context, {
    caller,
    organizationId: null,
    affectedIds: [user.id],
    changes: [put('users', user)],
  })
  return ok(user)
}

interface UserInput {
  /** ID of an existing user; undefined for a new one. */
  readonly id?: string
  readonly username?: string | undefined
  readonly email?: string | undefined
}

function userProblems({ store }: GovernanceContext, input: UserInput): readonly AttributeProblem[] {
  const problems: AttributeProblem[] = []
  for (const name of ['username', 'email'] as const) {
    const value = input[name]
    if (value === undefined) continue
    const [existingId] = store.tables.users.keysByIndex(name, normalizeName(value))
    // The current value is always accepted.
    if (existingId !== undefined && existingId === input.id) continue
    const word = name === 'email' ? 'Email' : 'Username'
    const pointer = `/data/attributes/${name}`
    if (existingId !== undefined)
      problems.push({ pointer, detail: `${word} has already been taken` })
    else if (name === 'username' && isReservedUsername(value))
      problems.push({ pointer, detail: `${word} is reserved` })
  }
  return problems
}

/** Changes the caller's own username or email address, also in its memberships. */
export async function updateAccount(
  context: GovernanceContext,
  caller: GovernanceCaller,
  attributes: v2.AccountUpdateRequest['data']['attributes'] = {},
): Promise<Result<void, GovernanceRefusal>> {
  const { tables } = context.store
  const before = caller.kind === 'user' ? tables.users.find(caller.userId) : undefined
  if (before === undefined) return err(NOT_FOUND)
  const { username, email } = attributes
  const problems = userProblems(context, { id: before.id, username, email })
  if (problems.length > 0) return err({ code: 'invalid', problems })
  const user = { ...before, username: username ?? before.username, email: email ?? before.email }
  const memberships = tables.organization_memberships.rowsByIndex('user', user.id)
  await commitWrite(context, {
    caller,
    organizationId: null,
    affectedIds: [user.id],
    changes: isEqual(before, user)
      ? []
      : [
          put('users', user),
          // Written after the user, because the index of memberships contains the username.
          ...memberships.map((row) =>
            put('organization_memberships', { ...row, email: user.email }),
          ),
        ],
  })
  return ok(undefined)
}

/**
 * Deletes a user with its tokens and memberships, unless an organization would lose its last owner.
 */
export async function deleteUser(
  context: GovernanceContext,
  caller: GovernanceCaller,
  userId: string,
): Promise<Result<void, GovernanceRefusal>> {
  const { tables } = context.store
  if (!isSiteAdministrator(caller) || !tables.users.has(userId)) return err(NOT_FOUND)
  const memberships = tables.organization_memberships.rowsByIndex('user', userId)
  const lastOwned = memberships.find((row) => isLastOwner(tables, row))
  if (lastOwned !== undefined) {
    const { name } = tables.organizations.get(lastOwned.organizationId)
    return err({ code: 'unprocessable', detail: `The user is the last owner of ${name}.` })
  }
  const tokens = [...tables.api_tokens.keysByIndex('owner', scopedKey('user', userId))]
  const changes: Change[] = [
    ...memberships.flatMap((row) => deleteMembershipChanges(tables, row.id)),
    ...tokens.map((id) => remove('api_tokens', id)),
    remove('users', userId),
  ]
  await commitWrite(context, {
    caller,
    organizationId: null,
    affectedIds: [userId],
    changes,
  })
  return ok(undefined)
}

/** Lists all users of the installation by name; for the site administrator only. */
export function listUsers(
  context: GovernanceContext,
  caller: GovernanceCaller,
  request: { readonly part?: string | undefined; readonly offset: number; readonly limit: number },
): Result<ListPage, GovernanceRefusal> {
  if (!isSiteAdministrator(caller)) return err(NOT_FOUND)
  const { part: search, offset, limit } = request
  return ok(
    context.lists.users.page({
      scope: SITE_SCOPE,
      order: 'name',
      search,
      skip: offset,
      take: limit,
    }),
  )
}

/**
 * Returns a user that shares an organization with the caller. A service user is visible in its own
 * organization.
 */
export function findVisibleUser(
  context: GovernanceContext,
  caller: GovernanceCaller,
  userId: string,
): Result<PublicUser, GovernanceRefusal> {
  const user = findPublicUser(context, userId)
  if (user === undefined) return err(NOT_FOUND)
  if (isSiteAdministrator(caller) || caller.userId === userId) return ok(user)
  const mine = new Set(callerOrganizationIds(context, caller))
  const theirs =
    user.organizationId === null ? activeOrganizationIds(context, userId) : [user.organizationId]
  return theirs.some((id) => mine.has(id)) ? ok(user) : err(NOT_FOUND)
}

function callerOrganizationIds(
  context: GovernanceContext,
  caller: GovernanceCaller,
): readonly string[] {
  if (caller.kind === 'user') return activeOrganizationIds(context, caller.userId)
  return caller.kind === 'team' || caller.kind === 'organization' ? [caller.organizationId] : []
}

function activeOrganizationIds({ store }: GovernanceContext, userId: string): readonly string[] {
  return store.tables.organization_memberships
    .rowsByIndex('user', userId)
    .filter(({ status }) => status === 'active')
    .map(({ organizationId }) => organizationId)
}
