import { Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { Fault } from '@reeve/kit/fault.ts'
import { readStateFile, writeStateFile } from '../store/state-file.ts'
import type { TaskPort } from '../task-launch.ts'

/** What an allocation has of the bridge. */
export interface Lease {
  /** Empty where it reaches nobody. */
  readonly address: string
  readonly ports: readonly TaskPort[]
}

const StoredLeases = Type.Object({
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
const leasesChecker = Compile(StoredLeases)

/** Which allocation has which address, kept in a file for the next agent. */
export class BridgeLeases {
  readonly #file: string
  readonly #leases = new Map<string, Lease>()

  constructor(file: string) {
    this.#file = file
  }

  async open(): Promise<void> {
    const stored = await readStateFile(this.#file)
    if (stored === undefined) return
    if (!leasesChecker.Check(stored)) {
      throw new Fault('agent-state', `${this.#file} is not what the agent writes`)
    }
    for (const [id, lease] of Object.entries(stored.leases)) this.#leases.set(id, lease)
  }

  find(allocationId: string): Lease | undefined {
    return this.#leases.get(allocationId)
  }

  /** Those of allocations that are joined to the bridge. */
  joined(): readonly (readonly [allocationId: string, lease: Lease])[] {
    return [...this.#leases].filter(([, { address }]) => address !== '')
  }

  addresses(): ReadonlySet<string> {
    return new Set(this.joined().map(([, { address }]) => address))
  }

  async put(allocationId: string, lease: Lease): Promise<void> {
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
