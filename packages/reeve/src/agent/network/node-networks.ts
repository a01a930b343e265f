import { Fault } from '@reeve/kit/fault.ts'
import type {
  AllocationNetwork,
  AllocationNetworks,
  NetworkOffer,
  NetworkRequest,
} from './allocation-network.ts'
import { BRIDGE_MODE } from './bridge-network.ts'
import { networkNameIn } from './cni/network-config.ts'

interface Providers {
  /** Also for allocations that reach nobody. */
  readonly bridge: AllocationNetworks
  readonly cni: Omit<AllocationNetworks, 'setUpAlone'>
}

/** Every network of a node, by its mode: the bridge, and those that CNI plug-ins make. */
export class NodeNetworks implements AllocationNetworks {
  readonly #bridge: Providers['bridge']
  readonly #cni: Providers['cni']

  constructor({ bridge, cni }: Providers) {
    this.#bridge = bridge
    this.#cni = cni
  }

  async open(): Promise<void> {
    await this.#bridge.open()
    await this.#cni.open()
  }

  async probe(): Promise<readonly NetworkOffer[]> {
    return [...(await this.#bridge.probe()), ...(await this.#cni.probe())]
  }

  find(allocationId: string): AllocationNetwork | undefined {
    return this.#bridge.find(allocationId) ?? this.#cni.find(allocationId)
  }

  async setUp(request: NetworkRequest): Promise<AllocationNetwork> {
    const { mode } = request
    if (mode === BRIDGE_MODE) return this.#bridge.setUp(request)
    if (networkNameIn(mode) !== undefined) return this.#cni.setUp(request)
    throw new Fault('network', `this node has no network of the mode ${JSON.stringify(mode)}`)
  }

  setUpAlone(allocationId: string): Promise<AllocationNetwork> {
    return this.#bridge.setUpAlone(allocationId)
  }

  /** Each provider removes only what it has set up. */
  async tearDown(allocationId: string): Promise<void> {
    await this.#bridge.tearDown(allocationId)
    await this.#cni.tearDown(allocationId)
  }
}
