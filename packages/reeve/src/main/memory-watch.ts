import { constants, PerformanceObserver, type PerformanceEntry } from 'node:perf_hooks'
import { totalmem } from 'node:os'
import { getHeapSpaceStatistics, getHeapStatistics } from 'node:v8'
import type { Clock } from '@reeve/kit/clock.ts'
import {
  isNearlyFull,
  estimatedUsedFraction,
  nextMemoryLevel,
  usedFractionWithGarbage,
  type MemoryLevel,
  type MemoryUsage,
} from '@reeve/kit/memory-pressure.ts'
import type { StateCapacity } from '@reeve/kit/memory-pressure.ts'
import type { ProgramLog } from './log.ts'

const CHECK_EVERY_MS = 250
/** A full collection of a large heap takes seconds: it is asked for only as often as this. */
const COLLECT_EVERY_MS = 30_000

const MEGABYTE = 1024 * 1024
/**
 * Memory outside of the heap may grow by so much, or by a share of the heap, before V8 is told to
 * look for garbage: memory that threads share does not count as garbage to it (decision 0091).
 * Marking takes time in proportion to the heap, so a large one is marked seldom.
 */
const OUTSIDE_BYTES_MAX = 32 * MEGABYTE
const OUTSIDE_HEAP_SHARE = 1 / 10
/**
 * The same for the heap itself: a small one in a large machine may fill with garbage up to a limit
 * of V8 that was chosen for the machine, and is not marked again until it has reached that.
 */
const HEAP_BYTES_MAX = 32 * MEGABYTE
const HEAP_SHARE = 1 / 2
/** Marking and the end of idle threads take a moment; what stays after some attempts is in use. */
const MARK_EVERY_MS = 3_000
const MARKS_MAX = 4

export interface MemoryWatchOptions {
  readonly clock: Clock
  readonly log: Pick<ProgramLog, 'info' | 'warn' | 'error'>
  readonly capacity: StateCapacity
  readonly read?: () => MemoryUsage
  /** Runs a full collection. */
  readonly collect?: (() => void) | undefined
  /** Makes V8 mark its heap step by step. */
  readonly mark?: () => void
}

/** Warns when memory runs short, and lets the state grow no more before the process would end. */
export class MemoryWatch {
  readonly #options: MemoryWatchOptions
  readonly #read: () => MemoryUsage
  readonly #observer: PerformanceObserver
  #heapLive: number | undefined
  #level: MemoryLevel = 'normal'
  #share = 0
  #collectedMs = Number.NEGATIVE_INFINITY
  readonly #outside = new Growth()
  readonly #heap = new Growth()
  /** What the last full collection has left, when this was last looked at. */
  #liveAtMark: number | undefined
  #markedMs = Number.NEGATIVE_INFINITY
  #cancelTimer: () => void = () => undefined

  constructor(options: MemoryWatchOptions) {
    this.#options = options
    const memoryMax = memoryMaxOfProcess()
    this.#read = options.read ?? (() => processUse(memoryMax, this.#heapLive))
    this.#observer = new PerformanceObserver((list) => {
      if (list.getEntries().some(isFullCollection)) this.#heapLive = oldGenerationBytes()
    })
  }

  start(): void {
    this.#observer.observe({ entryTypes: ['gc'] })
    this.#later()
  }

  stop(): void {
    this.#observer.disconnect()
    this.#cancelTimer()
  }

  /** The used share of what the process may use, from 0 to 1. */
  get share(): number {
    return this.#share
  }

  /** One look; also what the tests call. */
  check(): void {
    const use = this.#read()
    this.#share = estimatedUsedFraction(use)
    if (isNearlyFull(usedFractionWithGarbage(use))) this.#collectSometimes()
    else this.#markSometimes(use)
    const level = nextMemoryLevel(this.#level, this.#share)
    if (level === this.#level) return
    this.#tell(level, use)
    this.#level = level
  }

  #later(): void {
    this.#cancelTimer = this.#options.clock.after(CHECK_EVERY_MS, () => {
      this.#later()
      this.check()
    })
  }

  /** What was deleted is known to be free only after a full collection. */
  #collectSometimes(): void {
    const { clock, collect } = this.#options
    const nowMs = clock.monotonicMs()
    if (collect === undefined || nowMs - this.#collectedMs < COLLECT_EVERY_MS) return
    this.#collectedMs = nowMs
    collect()
  }

  /** Memory of large requests that is garbage goes when the heap was marked. */
  #markSometimes({ outsideHeap, heapUsed, heapLive }: MemoryUsage): void {
    const { clock, mark = startMarking } = this.#options
    if (heapLive !== undefined && heapLive !== this.#liveAtMark) this.#heap.least = heapLive
    this.#liveAtMark = heapLive
    const isGrown = [
      this.#outside.exceeds(
        outsideHeap,
        Math.max(OUTSIDE_BYTES_MAX, heapUsed * OUTSIDE_HEAP_SHARE),
      ),
      this.#heap.exceeds(heapUsed, Math.max(HEAP_BYTES_MAX, this.#heap.least * HEAP_SHARE)),
    ].some(Boolean)
    const nowMs = clock.monotonicMs()
    if (!isGrown || nowMs - this.#markedMs < MARK_EVERY_MS) return
    this.#markedMs = nowMs
    const isWorthIt = [this.#outside.attempt(), this.#heap.attempt()].some(Boolean)
    if (isWorthIt) mark()
  }

  #tell(level: MemoryLevel, use: MemoryUsage): void {
    const { log, capacity } = this.#options
    const percent = Math.round(this.#share * 100)
    const fields = { percent, heapUsed: use.heapUsed, heapLimit: use.heapLimit, max: use.memoryMax }
    const reason = `${percent} % of the server's memory are used; ${ADVICE}`
    capacity.setWarning(level === 'high' ? `memory runs short: ${reason}` : undefined)
    if (level === 'full') {
      capacity.setShortage(reason)
      log.error(fields, `nothing that adds to the state is accepted: ${reason}`)
      return
    }
    capacity.setShortage(undefined)
    if (this.#level === 'full') log.info(fields, 'there is enough memory again')
    else if (level === 'high') log.warn(fields, `memory runs short; ${ADVICE}`)
  }
}

/** How far memory is above its least, and whether marking is still worth an attempt. */
class Growth {
  /** Since it last grew for good. */
  least = Number.POSITIVE_INFINITY
  #now = 0
  #atMark = 0
  #isExceeded = false
  /** Attempts at about the same level: while it moves, large requests are under way. */
  #marks = 0

  exceeds(bytes: number, bytesMax: number): boolean {
    this.#now = bytes
    this.least = Math.min(this.least, bytes)
    this.#isExceeded = bytes - this.least > bytesMax
    if (!this.#isExceeded) this.#marks = 0
    return this.#isExceeded
  }

  /** False where marking has not helped: what is there is in use. */
  attempt(): boolean {
    if (!this.#isExceeded) return false
    if (Math.abs(this.#now - this.#atMark) > OUTSIDE_BYTES_MAX) this.#marks = 0
    this.#atMark = this.#now
    if (this.#marks++ < MARKS_MAX) return true
    this.least = this.#now
    this.#marks = 0
    return false
  }
}

/** Undefined where the runtime was started without the flag that gives it to programs. */
export function fullCollection(): (() => void) | undefined {
  const { gc } = globalThis
  // Its promise is of no interest: the observer is told when it is over.
  return gc === undefined ? undefined : () => void gc({ type: 'major', execution: 'async' })
}

const AFTER_START_MS = 3_000
/** A larger heap holds state: collecting all of it would stop the program for too long. */
const AFTER_START_HEAP_BYTES_MAX = 96 * MEGABYTE

interface StartCollection {
  readonly clock: Pick<Clock, 'after'>
  readonly collect?: (() => void) | undefined
  readonly heapBytes?: () => number
}

/**
 * Returns the memory of the start to the system, once: modules are loaded into a young generation
 * that grows to 30 MB, and V8 does not shrink it in a process that is idle. Returns the function
 * that cancels it.
 */
export function collectAfterStart(options: StartCollection): () => void {
  const { clock, collect = releasingCollection(), heapBytes = oldGenerationBytes } = options
  if (collect === undefined) return () => undefined
  return clock.after(AFTER_START_MS, () => {
    if (heapBytes() <= AFTER_START_HEAP_BYTES_MAX) collect()
  })
}

/** A collection after which V8 keeps no memory in reserve. */
function releasingCollection(): (() => void) | undefined {
  const { gc } = globalThis
  if (gc === undefined) return undefined
  return () => gc({ type: 'major', execution: 'sync', flavor: 'last-resort' })
}

/** V8 begins to mark step by step, beside the program, after so many bytes of new buffers. */
const BUFFER_BYTES_TO_MARK = 128 * MEGABYTE

/**
 * A full collection would hold the program for as long as it takes to look at the whole heap. The
 * pages of this buffer are never written, so it takes no memory.
 */
function startMarking(): void {
  try {
    new ArrayBuffer(BUFFER_BYTES_TO_MARK).transfer(0)
  } catch (thrown) {
    // A system that grants no memory in advance: the next collection does it.
    if (!(thrown instanceof RangeError)) throw thrown
  }
}

const ADVICE =
  'delete what is not needed ("reeve job stop --purge", "reeve system gc"), or give the server more memory'

function isFullCollection(entry: PerformanceEntry): boolean {
  const kind: unknown = Reflect.get(Object(Reflect.get(entry, 'detail')), 'kind')
  return kind === constants.NODE_PERFORMANCE_GC_MAJOR
}

/** Of the container where there is one, else of the machine. */
function memoryMaxOfProcess(): number {
  const constrained = process.constrainedMemory()
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem()
}

function processUse(memoryMax: number, heapLive: number | undefined): MemoryUsage {
  const heap = getHeapStatistics()
  return {
    heapUsed: oldGenerationBytes(),
    heapLive,
    heapLimit: heap.heap_size_limit - youngGenerationMax(),
    outsideHeap: Math.max(0, process.memoryUsage.rss() - heap.total_physical_size),
    memoryMax,
  }
}

const YOUNG_SPACES: ReadonlySet<string> = new Set(['new_space', 'new_large_object_space'])

/** A heap is full when its old generation is: the young one is emptied into it. */
function oldGenerationBytes(): number {
  return getHeapSpaceStatistics()
    .filter(({ space_name }) => !YOUNG_SPACES.has(space_name))
    .reduce((sum, { space_used_size }) => sum + space_used_size, 0)
}

const SEMI_SPACE_MEGABYTES_DEFAULT = 16
const SEMI_SPACES = 3

/** What the limit of the heap counts for the young generation. */
function youngGenerationMax(): number {
  const flags = [...process.execArgv, process.env['NODE_OPTIONS'] ?? ''].join(' ')
  const given = /--max-semi-space-size=(\d+)/.exec(flags)?.[1]
  return SEMI_SPACES * Number(given ?? SEMI_SPACE_MEGABYTES_DEFAULT) * MEGABYTE
}
