import { basename, extname, join } from 'node:path'
import { assert, Fault, errorMessage } from '@reeve/kit/fault.ts'
import { AGENT_LIMITS } from '../../limits.ts'
import type { Log } from '../../log.ts'
import { Slots } from '../../wait.ts'
import type {
  AllocationNetwork,
  AllocationNetworks,
  NetworkOffer,
  NetworkRequest,
} from '../allocation-network.ts'
import { createNamespace, deleteNamespace, hasNamespace, NAMESPACES_DIR } from '../namespace.ts'
import { runCommand, type RunCommand } from '../run-command.ts'
import { CNI_MODE_PREFIX, networkNameIn, programsOf, type NetworkConfig } from './network-config.ts'
import { findProgram, readNetworkFiles } from './network-files.ts'
import { NetworkRecords, type NetworkRecord } from './network-records.ts'
import { takesResultInDelete, type Attachment, type PluginCommand } from './plugin-call.ts'
import { networkFromResult, type PluginResult } from './plugin-result.ts'
import { addByPlugin, runPlugin } from './run-plugin.ts'

/** Where the operator keeps networks and plug-ins. */
export interface CniSettings {
  readonly configDirectory: string
  readonly pluginDirectories: readonly string[]
}

interface CniOptions {
  readonly settings: CniSettings
  /** For the records of what plug-ins were asked for. */
  readonly recordsDir: string
  readonly log: Log
  readonly run?: RunCommand
  readonly namespacesDir?: string
  readonly isRoot?: boolean
}

/** Names that the specification allows for containers, and that file names may have. */
const CONTAINER_ID = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/

/**
 * Networks that plug-ins of the Container Network Interface make, one for each configuration file.
 * What is asked of the plug-ins is saved before the first ADD, so that whatever a crash leaves is
 * removed by DEL.
 */
export class CniNetworks implements Omit<AllocationNetworks, 'setUpAlone'> {
  readonly #options: CniOptions
  readonly #run: RunCommand
  readonly #records: NetworkRecords
  readonly #slots = new Slots(AGENT_LIMITS.cniAllocationsInFlightMax)
  /** The last change of each allocation: plug-ins are never called twice at once for the same. */
  readonly #last = new Map<string, Promise<unknown>>()

  constructor(options: CniOptions) {
    this.#options = options
    this.#run = options.run ?? runCommand
    this.#records = new NetworkRecords(options.recordsDir)
  }

  open(): Promise<void> {
    return this.#records.open()
  }

  /** Files that cannot be used are offered with their problem, under the best name there is. */
  async probe(): Promise<readonly NetworkOffer[]> {
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

  /** An attachment that a crash left unfinished is removed and begun anew. */
  setUp(request: NetworkRequest): Promise<AllocationNetwork> {
    const { allocationId } = request
    return this.#inTurn(allocationId, async () => {
      const known = this.#records.find(allocationId)
      const given = this.find(allocationId)
      if (given !== undefined && (await hasNamespace(given.namespacePath))) return given
      if (known !== undefined) await this.#remove(allocationId, known)
      return this.#create(request)
    })
  }

  tearDown(allocationId: string): Promise<void> {
    return this.#inTurn(allocationId, async () => {
      const record = this.#records.find(allocationId)
      if (record !== undefined) await this.#remove(allocationId, record)
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

  async #inTurn<T>(allocationId: string, work: () => Promise<T>): Promise<T> {
    const next = (this.#last.get(allocationId) ?? Promise.resolve()).then(() =>
      this.#slots.run(work),
    )
    const settled = next.then(
      () => undefined,
      () => undefined,
    )
    this.#last.set(allocationId, settled)
    try {
      return await next
    } finally {
      if (this.#last.get(allocationId) === settled) this.#last.delete(allocationId)
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
    const record = { network: await this.#networkOf(mode), args, ports, result: null }
    await this.#records.put(allocationId, record)
    try {
      await createNamespace(this.#run, allocationId)
      const result = await this.#add(allocationId, record)
      const network = networkFromResult(result, this.#namespacePath(allocationId))
      if (network.address === '' && network.addressIPv6 === '') {
        throw new Fault('network', `${mode}: no plug-in assigned an address; add "ipam" to one`)
      }
      await this.#records.put(allocationId, { ...record, result })
      return network
    } catch (thrown) {
      // The reason of the failure is worth more than that of the cleanup; the record stays for it.
      await this.#remove(allocationId, record).catch((failed: unknown) => {
        const fields = { allocation: allocationId, error: errorMessage(failed) }
        this.#options.log.warn(fields, 'network not removed after its plug-ins failed')
      })
      throw thrown
    }
  }

  /** Files are read anew for each allocation: operators change them while the agent runs. */
  async #networkOf(mode: string): Promise<NetworkConfig> {
    const { configDirectory } = this.#options.settings
    const name = networkNameIn(mode)
    const files = await readNetworkFiles(configDirectory)
    for (const { network } of files)
      if (network.ok && network.value.name === name) return network.value
    throw new Fault(
      'network',
      `this node has no network of the mode ${JSON.stringify(mode)}: ` +
        'no valid configuration file in its client.cni_config_dir has that name',
    )
  }

  /** Each plug-in is given the result of the one before; the last result is that of all. */
  async #add(allocationId: string, attachment: Attachment): Promise<PluginResult> {
    let result: PluginResult | undefined
    for (const plugin of attachment.network.plugins) {
      const call = this.#call(allocationId, 'ADD')
      result = await addByPlugin({ ...call, attachment, plugin, prevResult: result })
    }
    assert(result !== undefined, 'a network has a plug-in')
    return result
  }

  /** In reverse order, to the end: one plug-in that fails must not keep the others from theirs. */
  async #remove(allocationId: string, record: NetworkRecord): Promise<void> {
    const { network, result } = record
    const prevResult = takesResultInDelete(network) ? (result ?? undefined) : undefined
    const isThere = await hasNamespace(this.#namespacePath(allocationId))
    const { namespacePath, ...call } = this.#call(allocationId, 'DEL')
    const failures: string[] = []
    for (const plugin of network.plugins.toReversed()) {
      const place = isThere ? namespacePath : ''
      const wanted = { ...call, namespacePath: place, attachment: record, plugin, prevResult }
      await runPlugin(wanted).catch((thrown: unknown) => failures.push(errorMessage(thrown)))
    }
    await deleteNamespace(this.#run, allocationId)
    // The record is what the next attempt goes by.
    if (failures.length > 0) throw new Fault('network', failures.join('; '))
    await this.#records.delete(allocationId)
  }

  #call(allocationId: string, command: PluginCommand) {
    const namespacePath = this.#namespacePath(allocationId)
    const { pluginDirectories: directories } = this.#options.settings
    return { command, allocationId, namespacePath, directories }
  }
}

async function missingProgram(
  network: NetworkConfig,
  directories: readonly string[],
): Promise<string | undefined> {
  for (const name of programsOf(network)) {
    const found = await findProgram(name, directories)
    if (!found.ok) return found.error
  }
  return undefined
}
