import { Fault } from '@reeve/kit/fault.ts'
import type {
  AllocationNetwork,
  NetworkManager,
  NetworkModeStatus,
  NetworkRequest,
} from './allocation-network.ts'
import { BRIDGE_MODE } from './bridge-network.ts'
import { networkNameOf } from './cni/network-config.ts'

interface NetworkProviders {
  /** Also creates loopback-only networks. */
  readonly bridge: NetworkManager
  readonly cni: Omit<NetworkManager, 'setUpLoopbackOnly'>
}

/** All network modes of a node: the bridge and the CNI networks. */
export class NodeNetworks implements NetworkManager {
  readonly #bridge: NetworkProviders['bridge']
  readonly #cni: NetworkProviders['cni']

  constructor({ bridge, cni }: NetworkProviders) {
    this.#bridge = bridge
    this.#cni = cni
  }

  async loadState(): Promise<void> {
    await this.#bridge.loadState()
    await this.#cni.loadState()
  }

  async probeModes(): Promise<readonly NetworkModeStatus[]> {
    return [...(await this.#bridge.probeModes()), ...(await this.#cni.probeModes())]
  }

  find(allocationId: string): AllocationNetwork | undefined {
    return this.#bridge.find(allocationId) ?? this.#cni.find(allocationId)
  }

  async setUp(request: NetworkRequest): Promise<AllocationNetwork> {
    const { mode } = request
    if (mode === BRIDGE_MODE) return this.#bridge.setUp(request)
    if (networkNameOf(mode) !== undefined) return this.#cni.setUp(request)
    throw new Fault('network', `this node has no network of the mode ${JSON.stringify(mode)}`)
  }

  setUpLoopbackOnly(allocationId: string): Promise<AllocationNetwork> {
    return this.#bridge.setUpLoopbackOnly(allocationId)
  }

  /** Each provider removes only what it has set up. */
  async tearDown(allocationId: string): Promise<void> {
    await this.#bridge.tearDown(allocationId)
    await this.#cni.tearDown(allocationId)
  }
}
