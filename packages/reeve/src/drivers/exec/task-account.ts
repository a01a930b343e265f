import { getUserIn, type HostAccounts, type HostUser } from '../../agent/index.ts'
import { Fault } from '@reeve/kit/fault.ts'

/** The accounts that isolated tasks may run as on this node. Each entry is a name or a number. */
export interface AccountPolicy {
  /** Users that no task runs as. */
  readonly denyUsers: readonly string[]
  /** Groups that no task has, unless it runs as root. Group 0 is always one of them. */
  readonly denyGroups: readonly string[]
  /** Groups that any task may name in `uid:gid`; `all` is any that is not denied. */
  readonly allowGroups: readonly string[]
}

export interface TaskAccount extends HostUser {
  /** The numbers of its supplementary groups. */
  readonly groups: readonly number[]
}

/** Groups of root lead to root's files. */
const ROOT_ID = 0

/**
 * The account of a task that asks for `wanted`. A group that the task names itself (`uid:gid`) must
 * be one that the machine gives this user, or one that the node allows. A denied group is dropped
 * from the supplementary ones, which the task did not choose, and refused as the primary one. Root
 * keeps its groups: where the node lets a task be root, its groups give it nothing more.
 */
export function resolveTaskAccount(
  requestedUser: string,
  host: HostAccounts,
  policy: AccountPolicy,
): TaskAccount {
  const user = getUserIn(host.users, requestedUser)
  const userNames = host.users.filter(({ uid }) => uid === user.uid).map(({ name }) => name)
  if (isListed(policy.denyUsers, user.uid, [user.name, ...userNames])) {
    throw accountFault(
      `user ${JSON.stringify(user.name)} is not allowed on this node (plugin "exec", denied_users)`,
    )
  }
  const supplementary = host.groups
    .filter(({ members }) => members.some((member) => userNames.includes(member)))
    .map(({ gid }) => gid)
  const primaryGroups = host.users.filter(({ uid }) => uid === user.uid).map(({ gid }) => gid)
  const isUsersGroup = [...primaryGroups, ...supplementary].includes(user.gid)
  if (!isUsersGroup && !isGroupAllowed(host, policy.allowGroups, user.gid)) {
    throw accountFault(
      `group ${user.gid} is not a group of user ${user.uid} on this node: choose one that is, or ` +
        'have the node allow it (plugin "exec", allow_groups)',
    )
  }
  if (user.uid === ROOT_ID) return { ...user, groups: unique(supplementary) }
  const isDenied = (gid: number): boolean =>
    gid === ROOT_ID || isListed(policy.denyGroups, gid, groupNamesOf(host, gid))
  if (isDenied(user.gid)) {
    throw accountFault(
      `group ${describeGroup(host, user.gid)} of user ${JSON.stringify(user.name)} is not allowed on ` +
        'this node (plugin "exec", denied_groups)',
    )
  }
  return { ...user, groups: unique(supplementary.filter((gid) => !isDenied(gid))) }
}

function isGroupAllowed(host: HostAccounts, allowed: readonly string[], gid: number): boolean {
  return allowed.includes('all') || isListed(allowed, gid, groupNamesOf(host, gid))
}

function isListed(list: readonly string[], id: number, names: readonly string[]): boolean {
  return list.some((entry) => entry === String(id) || names.includes(entry))
}

function groupNamesOf({ groups }: HostAccounts, gid: number): readonly string[] {
  return groups.filter((group) => group.gid === gid).map(({ name }) => name)
}

function describeGroup(host: HostAccounts, gid: number): string {
  const [name] = groupNamesOf(host, gid)
  return name === undefined ? String(gid) : `${JSON.stringify(name)} (${gid})`
}

const unique = (gids: readonly number[]): readonly number[] => [...new Set(gids)]

function accountFault(message: string): Fault {
  return new Fault('task-config', message)
}
