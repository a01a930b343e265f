import { mkdir, readdir, unlink } from 'node:fs/promises'
import { basename, extname, join } from 'node:path'
import { Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { assert, Fault, errorMessage } from '@reeve/kit/fault.ts'
import { AGENT_LIMITS } from '../../limits.ts'
import type { Logger } from '../../log.ts'
import { Semaphore } from '../../timing.ts'
import {
  type AllocationNetwork,
  createNamespace,
  deleteNamespace,
  hasNamespace,
  NAMESPACES_DIR,
  type NetworkManager,
  type NetworkModeStatus,
  type NetworkRequest,
} from '../allocation-network.ts'
import { runNetworkCommand, type RunNetworkCommand } from '../../run-program.ts'
import { isMissing, readStateFile, writeStateFile } from '../../store/state-file.ts'
import {
  CNI_MODE_PREFIX,
  networkNameOf,
  requiredPrograms,
  NetworkConfig,
  findPluginProgram,
  readNetworkFiles,
} from './network-config.ts'
import {
  supportsPrevResultInDelete,
  type Attachment,
  type PluginCommand,
  runAddPlugin,
  runPlugin,
  networkFromResult,
  type PluginResult,
  isPluginResult,
} from './plugin.ts'

/** Directories of CNI configurations and plug-ins. */
interface CniSettings {
  readonly configDirectory: string
  readonly pluginDirectories: readonly string[]
}

interface CniOptions {
  readonly settings: CniSettings
  /** Directory for the records of attachments. */
  readonly recordsDir: string
  readonly log: Logger
  readonly run?: RunNetworkCommand
  readonly namespacesDir?: string
  readonly isRoot?: boolean
}

/** Names that the specification allows for containers, and that file names may have. */
const CONTAINER_ID = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/

/**
 * Networks of CNI plug-ins, one per configuration file. The attachment is saved before the first
 * ADD, so that the remains of a crash are removed by DEL.
 */
export class CniNetworks implements Omit<NetworkManager, 'setUpLoopbackOnly'> {
  readonly #options: CniOptions
  readonly #run: RunNetworkCommand
  readonly #records: NetworkRecords
  readonly #semaphore = new Semaphore(AGENT_LIMITS.cniAllocationsInFlightMax)
  /** Last change per allocation: plug-ins never run in parallel for one allocation. */
  readonly #lastChanges = new Map<string, Promise<unknown>>()

  constructor(options: CniOptions) {
    this.#options = options
    this.#run = options.run ?? runNetworkCommand
    this.#records = new NetworkRecords(options.recordsDir)
  }

  loadState(): Promise<void> {
    return this.#records.load()
  }

  /** Invalid files are returned with their problem, named after the network if possible. */
  async probeModes(): Promise<readonly NetworkModeStatus[]> {
    const { configDirectory, pluginDirectories } = this.#options.settings
    const files = await readNetworkFiles(configDirectory)
    if (files.length === 0) return []
    const machineProblem = await this.#machineProblem()
    return Promise.all(
      files.map(async ({ path, network }) => {
        const name = network.ok ? network.value.name : basename(path, extname(path))
        const mode = `${CNI_MODE_PREFIX}${name}`
        if (!network.ok) return { mode, problem: network.error }
        const problem = machineProblem ?? (await missingProgram(network.value, pluginDirectories))
        return { mode, problem }
      }),
    )
  }

  find(allocationId: string): AllocationNetwork | undefined {
    const result = this.#records.find(allocationId)?.result
    return result ? networkFromResult(result, this.#namespacePath(allocationId)) : undefined
  }

  /** An attachment that a crash left incomplete is removed and created again. */
  setUp(request: NetworkRequest): Promise<AllocationNetwork> {
    const { allocationId } = request
    return this.#serialize(allocationId, async () => {
      const record = this.#records.find(allocationId)
      const existing = this.find(allocationId)
      if (existing !== undefined && (await hasNamespace(existing.namespacePath))) return existing
      if (record !== undefined) await this.#deleteAll(allocationId, record)
      return this.#create(request)
    })
  }

  tearDown(allocationId: string): Promise<void> {
    return this.#serialize(allocationId, async () => {
      const record = this.#records.find(allocationId)
      if (record !== undefined) await this.#deleteAll(allocationId, record)
    })
  }

  async #machineProblem(): Promise<string | undefined> {
    const { isRoot = process.getuid?.() === 0 } = this.#options
    if (!isRoot) return 'the agent does not run as root'
    try {
      await this.#run('ip', ['-Version'])
      return undefined
    } catch (thrown) {
      return errorMessage(thrown)
    }
  }

  async #serialize<T>(allocationId: string, work: () => Promise<T>): Promise<T> {
    const next = (this.#lastChanges.get(allocationId) ?? Promise.resolve()).then(() =>
      this.#semaphore.run(work),
    )
    const settled = next.then(
      () => undefined,
      () => undefined,
    )
    this.#lastChanges.set(allocationId, settled)
    try {
      return await next
    } finally {
      if (this.#lastChanges.get(allocationId) === settled) this.#lastChanges.delete(allocationId)
    }
  }

  #namespacePath(allocationId: string): string {
    return join(this.#options.namespacesDir ?? NAMESPACES_DIR, allocationId)
  }

  async #create(request: NetworkRequest): Promise<AllocationNetwork> {
    const { allocationId, mode, ports, cniArgs: args } = request
    if (!CONTAINER_ID.test(allocationId)) {
      throw new Fault('network', `${JSON.stringify(allocationId)} is no name for a network`)
    }
    const record = { network: await this.#readNetworkConfig(mode), args, ports, result: null }
    await this.#records.put(allocationId, record)
    try {
      await createNamespace(this.#run, allocationId)
      const result = await this.#addAll(allocationId, record)
      const network = networkFromResult(result, this.#namespacePath(allocationId))
      if (network.address === '' && network.addressIPv6 === '') {
        throw new Fault('network', `${mode}: no plug-in assigned an address; add "ipam" to one`)
      }
      await this.#records.put(allocationId, { ...record, result })
      return network
    } catch (thrown) {
      // The cause of the failure matters more than that of the cleanup; the record stays for a
      // retry.
      await this.#deleteAll(allocationId, record).catch((cleanupError: unknown) => {
        const fields = { allocation: allocationId, error: errorMessage(cleanupError) }
        this.#options.log.warn(fields, 'network not removed after its plug-ins failed')
      })
      throw thrown
    }
  }

  /** Reads the files for each allocation: operators change them while the agent runs. */
  async #readNetworkConfig(mode: string): Promise<NetworkConfig> {
    const { configDirectory } = this.#options.settings
    const name = networkNameOf(mode)
    const files = await readNetworkFiles(configDirectory)
    for (const { network } of files)
      if (network.ok && network.value.name === name) return network.value
    throw new Fault(
      'network',
      `this node has no network of the mode ${JSON.stringify(mode)}: ` +
        'no valid configuration file in its client.cni_config_dir has that name',
    )
  }

  /** Runs ADD of each plug-in with the result of the previous one; returns the last result. */
  async #addAll(allocationId: string, attachment: Attachment): Promise<PluginResult> {
    let result: PluginResult | undefined
    for (const plugin of attachment.network.plugins) {
      const call = this.#callOptions(allocationId, 'ADD')
      result = await runAddPlugin({ ...call, attachment, plugin, prevResult: result })
    }
    assert(result !== undefined, 'a network has a plug-in')
    return result
  }

  /** Runs DEL of all plug-ins in reverse order, even if some fail. */
  async #deleteAll(allocationId: string, record: NetworkRecord): Promise<void> {
    const { network, result } = record
    const prevResult = supportsPrevResultInDelete(network) ? (result ?? undefined) : undefined
    const hasNamespaceFile = await hasNamespace(this.#namespacePath(allocationId))
    const { namespacePath, ...call } = this.#callOptions(allocationId, 'DEL')
    const failures: string[] = []
    for (const plugin of network.plugins.toReversed()) {
      const callNamespacePath = hasNamespaceFile ? namespacePath : ''
      const deleteCall = {
        ...call,
        namespacePath: callNamespacePath,
        attachment: record,
        plugin,
        prevResult,
      }
      await runPlugin(deleteCall).catch((thrown: unknown) => failures.push(errorMessage(thrown)))
    }
    await deleteNamespace(this.#run, allocationId)
    // The record is needed for the next attempt.
    if (failures.length > 0) throw new Fault('network', failures.join('; '))
    await this.#records.delete(allocationId)
  }

  #callOptions(allocationId: string, command: PluginCommand) {
    const namespacePath = this.#namespacePath(allocationId)
    const { pluginDirectories: directories } = this.#options.settings
    return { command, allocationId, namespacePath, directories }
  }
}

async function missingProgram(
  network: NetworkConfig,
  directories: readonly string[],
): Promise<string | undefined> {
  for (const name of requiredPrograms(network)) {
    const found = await findPluginProgram(name, directories)
    if (!found.ok) return found.error
  }
  return undefined
}

/** Attachment of an allocation and the result of its plug-ins. */
interface NetworkRecord extends Attachment {
  /** Null until all plug-ins have succeeded. */
  readonly result: PluginResult | null
}

const recordChecker = Compile(
  Type.Object({
    network: NetworkConfig,
    args: Type.Record(Type.String(), Type.String()),
    ports: Type.Array(
      Type.Object({
        label: Type.String(),
        hostIp: Type.String(),
        hostPort: Type.Integer(),
        to: Type.Integer(),
      }),
    ),
    result: Type.Unknown(),
  }),
)

const RECORD_SUFFIX = '.json'

/**
 * One file per allocation. It contains the configuration that was used for ADD, because DEL must
 * run the same plug-ins even if the operator changed the configuration. Callers serialize writes
 * for one allocation.
 */
class NetworkRecords {
  readonly #directory: string
  readonly #records = new Map<string, NetworkRecord>()

  constructor(directory: string) {
    this.#directory = directory
  }

  async load(): Promise<void> {
    const names = await readdir(this.#directory).catch((thrown: unknown) => {
      if (isMissing(thrown)) return []
      throw thrown
    })
    for (const name of names) {
      // Other files are remains of writes that a crash interrupted.
      if (name.startsWith('.') || !name.endsWith(RECORD_SUFFIX)) continue
      const id = name.slice(0, -RECORD_SUFFIX.length)
      this.#records.set(id, parseRecord(await readStateFile(this.#path(id)), this.#path(id)))
    }
  }

  find(allocationId: string): NetworkRecord | undefined {
    return this.#records.get(allocationId)
  }

  async put(allocationId: string, record: NetworkRecord): Promise<void> {
    await mkdir(this.#directory, { recursive: true, mode: 0o700 })
    this.#records.set(allocationId, record)
    await writeStateFile(this.#path(allocationId), JSON.stringify(record))
  }

  async delete(allocationId: string): Promise<void> {
    await unlink(this.#path(allocationId)).catch((thrown: unknown) => {
      if (!isMissing(thrown)) throw thrown
    })
    this.#records.delete(allocationId)
  }

  #path(allocationId: string): string {
    return join(this.#directory, `${allocationId}${RECORD_SUFFIX}`)
  }
}

function parseRecord(stored: unknown, path: string): NetworkRecord {
  const isRecord = recordChecker.Check(stored)
  if (isRecord && stored.result === null) return { ...stored, result: null }
  if (isRecord && isPluginResult(stored.result)) return { ...stored, result: stored.result }
  throw new Fault('agent-state', `${path} is not what the agent writes`)
}
