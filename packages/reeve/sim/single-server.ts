import { decodeCommit } from '../src/state/commit-codec.ts'
import { MemoryDisk } from '../src/storage/index.ts'
import type { RandomStream } from './random-stream.ts'
import { jumpWithDeadlines } from './invariants/deadlines.ts'
import { SimLeader } from './sim-leader.ts'
import { applyMemoryPressure, type SimMemory } from './memory.ts'
import { CLOCK_SKEWS_MS, type ServerFault, type ServerBackend } from './server-backend.ts'
import { FaultyEngine, type DiskConditions } from './faulty-engine.ts'
import { Violation } from './trace.ts'
import { ProcessClock } from './virtual-clock.ts'
import type { World } from './world.ts'

/** Maximum delay before a dead leader is restarted. */
const MAX_RESTART_DELAY_MS = 5_000
/** Maximum lifetime of a process after its append has failed. */
const MAX_EXIT_MS = 1_000

/** One server with a disk, restarted whenever it dies. */
export class SingleServer implements ServerBackend {
  readonly faults: readonly ServerFault[] = [
    [4, (random) => this.#crashLeader(random)],
    [2, (random) => this.#slowDownDisk(random)],
    [1, (random) => this.#failNextWrite(random)],
    [2, (random) => this.#jumpClock(random)],
    [2, (random) => this.#reduceMemory(random)],
  ]
  readonly clockFaults: readonly ServerFault[] = [
    [6, (random) => this.#jumpClock(random)],
    [1, (random) => this.#crashLeader(random)],
  ]
  readonly #world: World
  readonly #disk = new MemoryDisk()
  readonly #diskRandom: RandomStream
  readonly #diskConditions: DiskConditions = { maxDelayMs: 5, nextFailure: undefined }
  /** How far the clock of the leader's machine is ahead; negative if behind. */
  readonly #skew = { ms: 0 }
  readonly #memory: SimMemory = { share: 0 }
  #leader: SimLeader | undefined
  #engine: FaultyEngine | undefined
  #crashes = 0
  #areFaultsStopped = false

  constructor(world: World) {
    this.#world = world
    this.#diskRandom = world.randomStream('disk')
  }

  get leader(): SimLeader | undefined {
    return this.#leader
  }

  get crashes(): number {
    return this.#crashes
  }

  /** Starts the leader from the disk and compares its state with the published commits. */
  async open(): Promise<void> {
    const world = this.#world
    const clock = new ProcessClock(world.clock, this.#skew)
    const engine = new FaultyEngine({
      disk: this.#disk,
      clock,
      random: this.#diskRandom,
      conditions: this.#diskConditions,
      onWritten: (text) => world.onWritten(text),
      onAppendFailed: () => this.#expectExit(engine),
      onWriteAfterFailure: () =>
        world.reportViolation(
          new Violation('nothing is appended after a failed append', 'the process appended again'),
        ),
    })
    const leader = await SimLeader.open({
      ...world.leaderParts,
      engine,
      clock,
      memory: this.#memory,
      onDurable: (commits) => world.onCommitted(commits),
      onStorageFailed: (fault) => this.#scheduleCrash(`the storage failed: ${fault.kind}`),
    })
    // Entries that survived unpublished are valid from now on.
    const survivingEntries = this.#disk.entries(world.expectedState.index + 1, this.#disk.lastIndex)
    world.onCommitted(survivingEntries.map((entry) => decodeCommit(entry.text)))
    world.catchViolation(() => world.expectedState.compare(leader.store))
    this.#leader = leader
    this.#engine = engine
    world.reader.reopen(leader.hub, () => leader.store.log.firstIndex)
    // Its first write takes time; a failure is found like any other death.
    leader.start().catch((thrown: unknown) => world.trace.log(`start failed: ${String(thrown)}`))
    if (this.#areFaultsStopped) leader.stopFaults()
    world.trace.log(`leader up at index ${leader.store.index}`)
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
    world.trace.log(`leader dies: ${reason}`)
    world.reader.close()
    leader.kill()
    await this.#engine?.crash()
    world.network.dropConnections()
    const delayMs = world.randomStream(`restart ${this.#crashes}`).between(0, MAX_RESTART_DELAY_MS)
    world.clock.after(delayMs, () => void this.open())
  }

  stopFaults(): void {
    this.#areFaultsStopped = true
    this.#diskConditions.maxDelayMs = 1
    this.#diskConditions.nextFailure = undefined
    // Corrects the clock: one that was ahead jumps back.
    this.#setClock(0)
    this.setMemoryShare(0)
    this.#leader?.stopFaults()
  }

  async finalCheck(): Promise<void> {}

  /** Sets the used fraction of the machine's memory. */
  setMemoryShare(share: number): void {
    this.#memory.share = share
    this.#world.trace.log(`the leader's memory is used to ${share}`)
    this.#leader?.checkMemory()
  }

  /**
   * After a failed fsync the disk contents are unknown until the next start: the process must not
   * continue.
   */
  #expectExit(engine: FaultyEngine): void {
    this.#world.clock.after(MAX_EXIT_MS, () => {
      if (this.#engine === engine && this.#leader !== undefined)
        this.#world.reportViolation(
          new Violation('a failed append ends the process', 'the leader still runs'),
        )
    })
  }

  /** For callers that cannot wait. */
  #scheduleCrash(reason: string): void {
    this.#world.clock.after(0, () => void this.crash(reason))
  }

  /** Kills the leader at a random moment soon. */
  #crashLeader(random: RandomStream): void {
    this.#world.clock.after(random.between(0, 200), () => void this.crash('the power went'))
  }

  #slowDownDisk(random: RandomStream): void {
    this.#diskConditions.maxDelayMs = random.choose(0, 5, 50, 500, 3_000)
    this.#world.trace.log(`writes take up to ${this.#diskConditions.maxDelayMs} ms`)
  }

  #failNextWrite(random: RandomStream): void {
    this.#diskConditions.nextFailure = random.choose(
      'full',
      'torn-all',
      'torn-none',
      'fsync',
      'fsync',
    )
    this.#world.trace.log(`the next write fails: ${this.#diskConditions.nextFailure}`)
  }

  #reduceMemory(random: RandomStream): void {
    applyMemoryPressure(this.#memory, {
      random,
      clock: this.#world.clock,
      hasEnded: () => this.#areFaultsStopped,
      onChanged: () => this.setMemoryShare(this.#memory.share),
    })
  }

  #jumpClock(random: RandomStream): void {
    const skewMs = random.choose(0, ...CLOCK_SKEWS_MS)
    this.#world.trace.log(`the leader's clock jumps by ${skewMs - this.#skew.ms} ms`)
    this.#setClock(skewMs)
  }

  #setClock(skewMs: number): void {
    const world = this.#world
    jumpWithDeadlines(
      this.#leader,
      () => {
        this.#skew.ms = skewMs
      },
      (work) => world.catchViolation(work),
    )
  }
}
