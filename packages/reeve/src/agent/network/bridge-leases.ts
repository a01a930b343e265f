import { Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { Fault } from '@reeve/kit/fault.ts'
import { readStateFile, writeStateFile } from '../store/state-file.ts'
import type { TaskPort } from '../driver.ts'

/** Address and ports of an allocation on the bridge. */
export interface BridgeLease {
  /** Empty for a loopback-only network. */
  readonly address: string
  readonly ports: readonly TaskPort[]
}

const LeasesFile = Type.Object({
  leases: Type.Record(
    Type.String(),
    Type.Object({
      address: Type.String(),
      ports: Type.Array(
        Type.Object({
          label: Type.String(),
          hostIp: Type.String(),
          hostPort: Type.Integer(),
          to: Type.Integer(),
        }),
      ),
    }),
  ),
})
const leasesFileChecker = Compile(LeasesFile)

/** Addresses by allocation, stored in a file for the next agent. */
export class BridgeLeases {
  readonly #file: string
  readonly #leases = new Map<string, BridgeLease>()

  constructor(file: string) {
    this.#file = file
  }

  async load(): Promise<void> {
    const stored = await readStateFile(this.#file)
    if (stored === undefined) return
    if (!leasesFileChecker.Check(stored)) {
      throw new Fault('agent-state', `${this.#file} is not what the agent writes`)
    }
    for (const [id, lease] of Object.entries(stored.leases)) this.#leases.set(id, lease)
  }

  find(allocationId: string): BridgeLease | undefined {
    return this.#leases.get(allocationId)
  }

  /** Leases of allocations that are connected to the bridge. */
  connectedLeases(): readonly (readonly [allocationId: string, lease: BridgeLease])[] {
    return [...this.#leases].filter(([, { address }]) => address !== '')
  }

  usedAddresses(): ReadonlySet<string> {
    return new Set(this.connectedLeases().map(([, { address }]) => address))
  }

  async put(allocationId: string, lease: BridgeLease): Promise<void> {
    this.#leases.set(allocationId, lease)
    await this.#save()
  }

  async delete(allocationId: string): Promise<void> {
    this.#leases.delete(allocationId)
    await this.#save()
  }

  async #save(): Promise<void> {
    await writeStateFile(this.#file, JSON.stringify({ leases: Object.fromEntries(this.#leases) }))
  }
}
