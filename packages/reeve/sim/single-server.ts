import { decodeCommit } from '../src/state/codec.ts'
import { MemoryDisk } from '../src/storage/index.ts'
import type { Draws } from './draws.ts'
import { jumpWithDeadlines } from './invariants/deadlines.ts'
import { Leader } from './leader.ts'
import { pressMemory, type SimMemory } from './memory.ts'
import { CLOCK_SKEWS_MS, type ServerFault, type Serving } from './serving.ts'
import { SlowEngine, type DiskTrouble } from './slow-engine.ts'
import { Violation } from './trace.ts'
import { ProcessClock } from './virtual-clock.ts'
import type { World } from './world.ts'

/** Maximum delay before a dead leader is restarted. */
const RESTART_MS_MAX = 5_000
/** Maximum lifetime of a process after its append has failed. */
const END_MS_MAX = 1_000

/** One server with a disk, restarted whenever it dies. */
export class SingleServer implements Serving {
  readonly faults: readonly ServerFault[] = [
    [4, (draws) => this.#crashLeader(draws)],
    [2, (draws) => this.#slowDisk(draws)],
    [1, (draws) => this.#failingDisk(draws)],
    [2, (draws) => this.#jumpClock(draws)],
    [2, (draws) => this.#shortMemory(draws)],
  ]
  readonly clockFaults: readonly ServerFault[] = [
    [6, (draws) => this.#jumpClock(draws)],
    [1, (draws) => this.#crashLeader(draws)],
  ]
  readonly #world: World
  readonly #disk = new MemoryDisk()
  readonly #diskDraws: Draws
  readonly #trouble: DiskTrouble = { slowMsMax: 5, next: undefined }
  /** How far the clock of the leader's machine is ahead; negative if behind. */
  readonly #skew = { ms: 0 }
  readonly #memory: SimMemory = { share: 0 }
  #leader: Leader | undefined
  #engine: SlowEngine | undefined
  #crashes = 0
  #isCalm = false

  constructor(world: World) {
    this.#world = world
    this.#diskDraws = world.draws('disk')
  }

  get leader(): Leader | undefined {
    return this.#leader
  }

  get crashes(): number {
    return this.#crashes
  }

  /** Starts the leader from the disk and compares its state with the published commits. */
  async open(): Promise<void> {
    const world = this.#world
    const clock = new ProcessClock(world.clock, this.#skew)
    const engine = new SlowEngine({
      disk: this.#disk,
      clock,
      draws: this.#diskDraws,
      trouble: this.#trouble,
      written: (text) => world.written(text),
      appendFailed: () => this.#expectEnd(engine),
      wroteAfterFailure: () =>
        world.blame(new Violation('a failed append is the last', 'the process appended again')),
    })
    const leader = await Leader.open({
      ...world.leaderParts,
      engine,
      clock,
      memory: this.#memory,
      revealed: (commits) => world.committed(commits),
      failed: (fault) => this.#crashSoon(`the storage failed: ${fault.kind}`),
    })
    // Entries that survived unpublished are valid from now on.
    const found = this.#disk.entries(world.model.index + 1, this.#disk.lastIndex)
    world.committed(found.map((entry) => decodeCommit(entry.text)))
    world.guard(() => world.model.compare(leader.store))
    this.#leader = leader
    this.#engine = engine
    world.reader.reopen(leader.hub, () => leader.store.log.firstIndex)
    // Its first write takes time; a failure is found like any other death.
    leader.start().catch((thrown: unknown) => world.trace.say(`start failed: ${String(thrown)}`))
    if (this.#isCalm) leader.calm()
    world.trace.say(`leader up at index ${leader.store.index}`)
  }

  accept() {
    const leader = this.#leader
    if (leader === undefined || leader.store.fault !== undefined) return undefined
    return leader.accept.bind(leader)
  }

  /** Kills the leader and starts another one after a while. */
  async crash(reason: string): Promise<void> {
    const world = this.#world
    const leader = this.#leader
    if (leader === undefined) return
    this.#leader = undefined
    this.#crashes += 1
    world.trace.say(`leader dies: ${reason}`)
    world.reader.close()
    leader.die()
    await this.#engine?.crash()
    world.network.cut()
    const delayMs = world.draws(`restart ${this.#crashes}`).between(0, RESTART_MS_MAX)
    world.clock.after(delayMs, () => void this.open())
  }

  calm(): void {
    this.#isCalm = true
    this.#trouble.slowMsMax = 1
    this.#trouble.next = undefined
    // Corrects the clock: one that was ahead jumps back.
    this.#setClock(0)
    this.useMemory(0)
    this.#leader?.calm()
  }

  async judge(): Promise<void> {}

  /** Sets the used fraction of the machine's memory. */
  useMemory(share: number): void {
    this.#memory.share = share
    this.#world.trace.say(`the leader's memory is used to ${share}`)
    this.#leader?.checkMemory()
  }

  /**
   * After a failed fsync the disk contents are unknown until the next start: the process must not
   * continue.
   */
  #expectEnd(engine: SlowEngine): void {
    this.#world.clock.after(END_MS_MAX, () => {
      if (this.#engine === engine && this.#leader !== undefined)
        this.#world.blame(new Violation('a failed append ends the process', 'the leader goes on'))
    })
  }

  /** For callers that cannot wait. */
  #crashSoon(reason: string): void {
    this.#world.clock.after(0, () => void this.crash(reason))
  }

  /** Kills the leader at a random moment soon. */
  #crashLeader(draws: Draws): void {
    this.#world.clock.after(draws.between(0, 200), () => void this.crash('the power went'))
  }

  #slowDisk(draws: Draws): void {
    this.#trouble.slowMsMax = draws.choose(0, 5, 50, 500, 3_000)
    this.#world.trace.say(`writes take up to ${this.#trouble.slowMsMax} ms`)
  }

  #failingDisk(draws: Draws): void {
    this.#trouble.next = draws.choose('full', 'torn-all', 'torn-none', 'fsync', 'fsync')
    this.#world.trace.say(`the next write fails: ${this.#trouble.next}`)
  }

  #shortMemory(draws: Draws): void {
    pressMemory(this.#memory, {
      draws,
      clock: this.#world.clock,
      isOver: () => this.#isCalm,
      changed: () => this.useMemory(this.#memory.share),
    })
  }

  #jumpClock(draws: Draws): void {
    const skewMs = draws.choose(0, ...CLOCK_SKEWS_MS)
    this.#world.trace.say(`the leader's clock jumps by ${skewMs - this.#skew.ms} ms`)
    this.#setClock(skewMs)
  }

  #setClock(skewMs: number): void {
    const world = this.#world
    jumpWithDeadlines(
      this.#leader,
      () => {
        this.#skew.ms = skewMs
      },
      (work) => world.guard(work),
    )
  }
}
