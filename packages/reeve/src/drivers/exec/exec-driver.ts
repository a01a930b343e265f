import { lchown, lstat, mkdir, readFile } from 'node:fs/promises'
import { availableParallelism, hostname } from 'node:os'
import { join } from 'node:path'
import { pid } from 'node:process'
import {
  HOST_NETWORK,
  NO_IDENTITY,
  readHostAccounts,
  withTimeout,
  type DriverHealth,
  type HostUser,
  type Recovery,
  type RunningTask,
  type OrphanKillingDriver,
  type TaskHandle,
  type TaskLaunch,
  getUserIn,
  type HostAccounts,
} from '../../agent/index.ts'
import type { Clock } from '@reeve/kit/clock.ts'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import { readBootId } from '../proc/processes.ts'
import { planCgroups } from '../native/cgroup.ts'
import type { NativeCapabilities, NativeSupervisor } from '../native/native-supervisor.ts'
import {
  effectiveHostname,
  rootfsEntries,
  type HostFiles,
  type TaskSpecInput,
} from '../native/task-spec.ts'
import { DEFAULT_CAPS, grantedCapabilities } from '../capabilities.ts'
import { type ConfigFieldDocs, ConfigReader } from '../config-reader.ts'

/** User of tasks that name none, unless the node configures another. */
const DEFAULT_USER = 'nobody'

/** Time limit of the trial task. */
const TRIAL_TIMEOUT_MS = 10_000

/** Permissions and limits of isolated tasks, from the configuration of the node. */
export interface ExecPolicy extends AccountPolicy {
  /** Linux capabilities that tasks may have; `all` allows any. */
  readonly allowCaps: readonly string[]
  /** User of tasks that name none. Default: `nobody`. */
  readonly defaultUser?: string
  /** Whether tasks may use the PID and IPC namespaces of the host. */
  readonly allowHostNamespaces: boolean
  /** Enforces the CPU share as a limit; otherwise it is a weight that counts under contention. */
  readonly isCpuHard: boolean
  readonly pidsMax: number
  /** Host paths in the root of tasks instead of the default ones: host path to path in the root. */
  readonly chrootEnv: Readonly<Record<string, string>> | undefined
}

interface ExecDriverOptions {
  readonly clock: Clock
  readonly helper: NativeSupervisor
  readonly policy: ExecPolicy
  /** Directory for the files of the trial task. */
  readonly stateDir: string
}

/** Runs programs of the host in a chroot with their own namespaces, user and cgroup limits. */
export class ExecDriver implements OrphanKillingDriver {
  readonly name = 'exec'
  readonly isolation = 'chroot'
  readonly defaultUser: string
  readonly #options: ExecDriverOptions
  #hasRunTrial = false
  #trialCount = 0

  constructor(options: ExecDriverOptions) {
    this.#options = options
    this.defaultUser = options.policy.defaultUser ?? DEFAULT_USER
  }

  async fingerprint(): Promise<DriverHealth> {
    const { helper, policy } = this.#options
    try {
      const capabilities = await helper.capabilities()
      if (capabilities.uid !== 0)
        throw new Fault('task-unstartable', 'isolation needs an agent of root')
      if (capabilities.isolationProblem !== '')
        throw new Fault('task-unstartable', capabilities.isolationProblem)
      // Fingerprints are periodic; the trial task runs only until it has succeeded once.
      if (!this.#hasRunTrial) await this.#runTrialTask()
      this.#hasRunTrial = true
      const attributes = {
        'driver.exec': '1',
        'driver.exec.helper': '1',
        'driver.exec.seccomp': capabilities.hasSeccomp ? '1' : '0',
        'driver.exec.cgroup': capabilities.layout.kind,
        'driver.exec.caps': policy.allowCaps.join(','),
      }
      return { detected: true, healthy: true, description: 'Healthy', attributes }
    } catch (thrown) {
      return { detected: false, healthy: false, description: errorMessage(thrown), attributes: {} }
    }
  }

  prewarm(): void {
    this.#options.helper.prewarm()
  }

  shareCores(cores: readonly number[]): Promise<void> {
    return this.#options.helper.shareCores(cores)
  }

  async start(launch: TaskLaunch): Promise<RunningTask> {
    const { helper } = this.#options
    const config = readExecConfig(launch.config)
    const account = await this.#resolveAccount(launch)
    const specInput = this.#buildSpecInput(
      { launch, config, account },
      await helper.capabilities(),
      await readHostFiles(),
    )
    if (launch.user === '') await chownTaskDirectories(launch, account)
    return helper.start(specInput)
  }

  recover(handle: TaskHandle): Promise<Recovery> {
    return this.#options.helper.recover(handle)
  }

  killOrphans(known: ReadonlySet<string>): Promise<void> {
    return this.#options.helper.killOrphans(known)
  }

  async #resolveAccount({ user }: TaskLaunch): Promise<TaskAccount> {
    const accounts = await readHostAccounts()
    return resolveTaskAccount(user === '' ? this.defaultUser : user, accounts, this.#options.policy)
  }

  #buildSpecInput(
    { launch, config, account }: ResolvedLaunch,
    capabilities: NativeCapabilities,
    hostFiles: HostFiles,
  ): TaskSpecInput {
    const { policy, helper } = this.#options
    if ((config.sharesPidNamespace || config.sharesIpcNamespace) && !policy.allowHostNamespaces) {
      throw new Fault('task-config', 'pid_mode and ipc_mode "host" are not allowed on this node')
    }
    const { handle, network, resources } = launch
    return {
      launch,
      command: config.command,
      args: config.args,
      env: launch.env,
      cwd: config.workDir ?? '/',
      user: `${account.uid}:${account.gid}`,
      groups: account.groups,
      denyUsers: policy.denyUsers,
      caps: capabilitiesOf(account, config, policy),
      seccomp: capabilities.hasSeccomp,
      isolate: {
        root: join(handle.dir, 'root'),
        hostname: effectiveHostname(launch, hostFiles),
        pidNamespace: !config.sharesPidNamespace,
        ipcNamespace: !config.sharesIpcNamespace,
        entries: rootfsEntries({ launch, user: account, hostFiles, chrootEnv: policy.chrootEnv }),
      },
      ...(network.namespacePath === undefined ? {} : { netns: network.namespacePath }),
      ...planCgroups(capabilities.layout, {
        id: helper.cgroupNameOf(handle),
        resources,
        hasLimits: true,
        hasHardCpuLimit: policy.isCpuHard,
        pidsMax: policy.pidsMax,
        coreCount: availableParallelism(),
      }),
    }
  }

  /** Runs `true` as a task: proves that isolation works on this host. */
  async #runTrialTask(): Promise<void> {
    const { clock, stateDir } = this.#options
    this.#trialCount += 1
    const id = `trial-${pid}-${this.#trialCount}`
    const launch = await createTrialLaunch(join(stateDir, 'trial'), id)
    const task = await this.start(launch)
    const deadline = { clock, timeoutMs: TRIAL_TIMEOUT_MS, operation: 'a trial task' }
    try {
      const { exitCode } = await withTimeout(task.exited, deadline)
      if (exitCode === 0) return
      throw new Fault('task-start', `a trial task ended with the status ${exitCode}`)
    } finally {
      await task.stop({ signal: 'SIGKILL', timeoutMs: 0 })
      await task.destroyRecords()
    }
  }
}

/** With one of these a task can become any user or group, even those that the node denies. */
const IDENTITY_CHANGING_CAPS: readonly string[] = ['setuid', 'setgid']

function capabilitiesOf(
  { uid }: TaskAccount,
  { capAdd, capDrop }: ExecConfig,
  { allowCaps }: ExecPolicy,
): readonly string[] {
  // Tasks of other users than root have only the capabilities that they add.
  const base = uid === 0 ? DEFAULT_CAPS : []
  const caps = grantedCapabilities({
    defaults: base,
    add: capAdd,
    drop: capDrop,
    allowed: allowCaps,
  })
  const identityChanging =
    uid === 0 ? [] : caps.filter((name) => IDENTITY_CHANGING_CAPS.includes(name))
  if (identityChanging.length === 0) return caps
  throw new Fault(
    'task-config',
    `cap_add: ${identityChanging.join(' and ')} would let the task become any user or group: only a task ` +
      'of root may have it, where the node allows root (plugin "exec", denied_users)',
  )
}

interface ResolvedLaunch {
  readonly launch: TaskLaunch
  readonly config: ExecConfig
  readonly account: TaskAccount
}

async function createTrialLaunch(dir: string, id: string): Promise<TaskLaunch> {
  const [taskDir, allocDir] = [join(dir, 'task'), join(dir, 'alloc')]
  const paths = { localDir: join(taskDir, 'local'), secretsDir: join(taskDir, 'secrets') }
  for (const path of [join(allocDir, 'logs'), join(taskDir, 'tmp'), ...Object.values(paths)]) {
    await mkdir(path, { recursive: true })
  }
  const bootId = await readBootId()
  return {
    handle: { driver: 'exec', id, allocationId: id, task: 'trial', dir: join(dir, id), bootId },
    identity: NO_IDENTITY,
    config: { command: 'true' },
    env: { PATH: '/usr/bin:/bin' },
    user: '',
    taskDir,
    allocDir,
    ...paths,
    resources: { cpuMHz: 100, cpuFraction: 1, cores: [], memoryMB: 64, memoryMaxMB: 0 },
    logs: undefined,
    mounts: [],
    network: HOST_NETWORK,
  }
}

async function readHostFiles(): Promise<HostFiles> {
  const read = (path: string): Promise<string> => readFile(path, 'utf8').catch(() => '')
  const [hosts, resolvConf] = await Promise.all([read('/etc/hosts'), read('/etc/resolv.conf')])
  return { hostname: hostname(), hosts, resolvConf }
}

/** The agent creates the directories as root, before the user of the task is resolved. */
async function chownTaskDirectories(launch: TaskLaunch, user: HostUser): Promise<void> {
  const { taskDir, localDir, secretsDir } = launch
  for (const path of [localDir, secretsDir, join(taskDir, 'tmp')]) {
    const stats = await lstat(path)
    if (stats.isDirectory() && stats.uid === 0) await lchown(path, user.uid, user.gid)
  }
}

/** Parsed `config` of a task. */
interface ExecConfig {
  readonly command: string
  readonly args: readonly string[]
  /** Path in the root of the task. */
  readonly workDir: string | undefined
  readonly sharesPidNamespace: boolean
  readonly sharesIpcNamespace: boolean
  readonly capAdd: readonly string[]
  readonly capDrop: readonly string[]
}

/** Types and documentation of the fields of `config`. */
export const EXEC_SETTINGS = {
  command: [
    'string',
    'Required. The program: a path or a name in `PATH` of the task, executed without a shell.',
  ],
  args: ['list(string)', 'Arguments of the program.'],
  work_dir: ['string', 'Working directory in the root of the task. Defaults to `/`.'],
  pid_mode: ['string', 'PID namespace: `private`, or `host` if the node allows it.'],
  ipc_mode: ['string', 'IPC namespace: `private`, or `host` if the node allows it.'],
  cap_add: [
    'list(string)',
    'Capabilities to add, limited by `allow_caps` of the node (by default without ' +
      '`dac_override`, `mknod` and `setfcap`). A task that is not root has exactly these, and ' +
      'never `setuid` or `setgid`.',
  ],
  cap_drop: ['list(string)', 'Capabilities to drop.'],
} as const satisfies ConfigFieldDocs

function readExecConfig(config: Readonly<Record<string, unknown>>): ExecConfig {
  const reader = new ConfigReader(config, { owner: 'exec', known: Object.keys(EXEC_SETTINGS) })
  const workDir = reader.string('work_dir')
  if (workDir !== undefined && !workDir.startsWith('/')) {
    throw reader.fault('work_dir', 'must begin with / : it is a path inside the task')
  }
  return {
    command: reader.requiredString('command'),
    args: reader.strings('args') ?? [],
    workDir,
    sharesPidNamespace: reader.oneOf('pid_mode', ['private', 'host']) === 'host',
    sharesIpcNamespace: reader.oneOf('ipc_mode', ['private', 'host']) === 'host',
    capAdd: reader.strings('cap_add') ?? [],
    capDrop: reader.strings('cap_drop') ?? [],
  }
}

/** The accounts that isolated tasks may run as on this node. Each entry is a name or a number. */
export interface AccountPolicy {
  /** Users that tasks may not run as. */
  readonly denyUsers: readonly string[]
  /** Groups that only tasks of root may have. Group 0 is always one of them. */
  readonly denyGroups: readonly string[]
  /** Groups that any task may request in `uid:gid`; `all` allows all that are not denied. */
  readonly allowGroups: readonly string[]
}

interface TaskAccount extends HostUser {
  /** IDs of the supplementary groups. */
  readonly groups: readonly number[]
}

/** ID of the user and of the group `root`. */
const ROOT_ID = 0

/**
 * Resolves the user and groups of a task. A group in `uid:gid` must be a group of the user on the
 * host, or one that the node allows. Denied supplementary groups are dropped, because the task did
 * not choose them; a denied primary group is rejected. Root keeps its groups: if the node allows
 * tasks of root, they give it no further access.
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
