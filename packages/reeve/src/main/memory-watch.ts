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
import type { Logger } from './log.ts'

const CHECK_EVERY_MS = 250
/** Minimum time between full collections, which take seconds on a large heap. */
const COLLECT_EVERY_MS = 30_000

const MEGABYTE = 1024 * 1024
/**
 * How much memory outside the heap may grow, in bytes or as a share of the heap, before V8 is asked
 * to mark: V8 does not count shared memory as garbage (decision 0091). Marking time is proportional
 * to the heap, so a large heap is marked rarely.
 */
const EXTERNAL_BYTES_MAX = 32 * MEGABYTE
const EXTERNAL_HEAP_RATIO = 1 / 10
/**
 * The same for the heap. On a large machine V8 lets even a small heap grow to a limit that was
 * chosen for the machine before it marks again.
 */
const HEAP_BYTES_MAX = 32 * MEGABYTE
const HEAP_GROWTH_RATIO = 1 / 2
/**
 * Time between attempts, because marking and ending idle threads take a moment. Memory that remains
 * after several attempts is in use.
 */
const MARK_EVERY_MS = 3_000
const MARKS_MAX = 4

interface MemoryWatchOptions {
  readonly clock: Clock
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>
  readonly capacity: StateCapacity
  readonly read?: () => MemoryUsage
  /** Runs a full collection. */
  readonly collect?: (() => void) | undefined
  /** Starts incremental marking. */
  readonly mark?: () => void
}

/**
 * Warns when memory runs low, and rejects writes that add state before the process would run out of
 * memory.
 */
export class MemoryMonitor {
  readonly #options: MemoryWatchOptions
  readonly #read: () => MemoryUsage
  readonly #observer: PerformanceObserver
  #heapLive: number | undefined
  #level: MemoryLevel = 'normal'
  #usedRatio = 0
  #collectedMs = Number.NEGATIVE_INFINITY
  readonly #externalGrowth = new GrowthTracker()
  readonly #heapGrowth = new GrowthTracker()
  /** The live heap size after the last full collection, at the time of the last marking. */
  #liveAtMark: number | undefined
  #markedMs = Number.NEGATIVE_INFINITY
  #cancelTimer: () => void = () => undefined

  constructor(options: MemoryWatchOptions) {
    this.#options = options
    const memoryMax = memoryLimitBytes()
    this.#read = options.read ?? (() => readMemoryUsage(memoryMax, this.#heapLive))
    this.#observer = new PerformanceObserver((list) => {
      if (list.getEntries().some(isFullCollection)) this.#heapLive = oldGenerationBytes()
    })
  }

  start(): void {
    this.#observer.observe({ entryTypes: ['gc'] })
    this.#schedule()
  }

  stop(): void {
    this.#observer.disconnect()
    this.#cancelTimer()
  }

  /** The used share of the memory limit, from 0 to 1. */
  get usedRatio(): number {
    return this.#usedRatio
  }

  /** Checks once. Tests call this directly. */
  check(): void {
    const use = this.#read()
    this.#usedRatio = estimatedUsedFraction(use)
    if (isNearlyFull(usedFractionWithGarbage(use))) this.#collectIfDue()
    else this.#markIfGrown(use)
    const level = nextMemoryLevel(this.#level, this.#usedRatio)
    if (level === this.#level) return
    this.#report(level, use)
    this.#level = level
  }

  #schedule(): void {
    this.#cancelTimer = this.#options.clock.after(CHECK_EVERY_MS, () => {
      this.#schedule()
      this.check()
    })
  }

  /** Runs a full collection occasionally: only then is deleted state counted as free. */
  #collectIfDue(): void {
    const { clock, collect } = this.#options
    const nowMs = clock.monotonicMs()
    if (collect === undefined || nowMs - this.#collectedMs < COLLECT_EVERY_MS) return
    this.#collectedMs = nowMs
    collect()
  }

  /** Starts marking occasionally, which frees the garbage of large requests. */
  #markIfGrown({ outsideHeap, heapUsed, heapLive }: MemoryUsage): void {
    const { clock, mark = triggerIncrementalMarking } = this.#options
    if (heapLive !== undefined && heapLive !== this.#liveAtMark) this.#heapGrowth.minimum = heapLive
    this.#liveAtMark = heapLive
    const isGrown = [
      this.#externalGrowth.exceeds(
        outsideHeap,
        Math.max(EXTERNAL_BYTES_MAX, heapUsed * EXTERNAL_HEAP_RATIO),
      ),
      this.#heapGrowth.exceeds(
        heapUsed,
        Math.max(HEAP_BYTES_MAX, this.#heapGrowth.minimum * HEAP_GROWTH_RATIO),
      ),
    ].some(Boolean)
    const nowMs = clock.monotonicMs()
    if (!isGrown || nowMs - this.#markedMs < MARK_EVERY_MS) return
    this.#markedMs = nowMs
    const isWorthIt = [this.#externalGrowth.attempt(), this.#heapGrowth.attempt()].some(Boolean)
    if (isWorthIt) mark()
  }

  #report(level: MemoryLevel, use: MemoryUsage): void {
    const { log, capacity } = this.#options
    const percent = Math.round(this.#usedRatio * 100)
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

/** Tracks the growth of memory above its minimum, and whether marking is still useful. */
class GrowthTracker {
  /** The minimum since the last permanent growth. */
  minimum = Number.POSITIVE_INFINITY
  #current = 0
  #atMark = 0
  #isExceeded = false
  /**
   * Number of attempts at about the same level; a changing level means that large requests are in
   * progress.
   */
  #marks = 0

  exceeds(bytes: number, bytesMax: number): boolean {
    this.#current = bytes
    this.minimum = Math.min(this.minimum, bytes)
    this.#isExceeded = bytes - this.minimum > bytesMax
    if (!this.#isExceeded) this.#marks = 0
    return this.#isExceeded
  }

  /** Returns false if marking did not help, because the memory is in use. */
  attempt(): boolean {
    if (!this.#isExceeded) return false
    if (Math.abs(this.#current - this.#atMark) > EXTERNAL_BYTES_MAX) this.#marks = 0
    this.#atMark = this.#current
    if (this.#marks++ < MARKS_MAX) return true
    this.minimum = this.#current
    this.#marks = 0
    return false
  }
}

/** Undefined unless Node was started with `--expose-gc`. */
export function createFullCollection(): (() => void) | undefined {
  const { gc } = globalThis
  // The promise is ignored, because a performance observer reports the collection.
  return gc === undefined ? undefined : () => void gc({ type: 'major', execution: 'async' })
}

const AFTER_START_MS = 3_000
/** A larger heap contains state, and a full collection would block the program for too long. */
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
  const { clock, collect = createReleasingCollection(), heapBytes = oldGenerationBytes } = options
  if (collect === undefined) return () => undefined
  return clock.after(AFTER_START_MS, () => {
    if (heapBytes() <= AFTER_START_HEAP_BYTES_MAX) collect()
  })
}

/** Returns a collection after which V8 keeps no reserved memory. */
function createReleasingCollection(): (() => void) | undefined {
  const { gc } = globalThis
  if (gc === undefined) return undefined
  return () => gc({ type: 'major', execution: 'sync', flavor: 'last-resort' })
}

/** V8 starts concurrent marking after this many bytes of new external buffers. */
const BUFFER_BYTES_TO_MARK = 128 * MEGABYTE

/**
 * Triggers incremental marking, because a full collection would block the program. The pages of the
 * buffer are never written, so it uses no memory.
 */
function triggerIncrementalMarking(): void {
  try {
    new ArrayBuffer(BUFFER_BYTES_TO_MARK).transfer(0)
  } catch (thrown) {
    // The system does not overcommit memory; the next collection marks instead.
    if (!(thrown instanceof RangeError)) throw thrown
  }
}

const ADVICE =
  'delete what is not needed ("reeve job stop --purge", "reeve system gc"), or give the server more memory'

function isFullCollection(entry: PerformanceEntry): boolean {
  const kind: unknown = Reflect.get(Object(Reflect.get(entry, 'detail')), 'kind')
  return kind === constants.NODE_PERFORMANCE_GC_MAJOR
}

/** The memory limit of the container, or else of the machine. */
function memoryLimitBytes(): number {
  const constrained = process.constrainedMemory()
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem()
}

function readMemoryUsage(memoryMax: number, heapLive: number | undefined): MemoryUsage {
  const heap = getHeapStatistics()
  return {
    heapUsed: oldGenerationBytes(),
    heapLive,
    heapLimit: heap.heap_size_limit - youngGenerationBytesMax(),
    outsideHeap: Math.max(0, process.memoryUsage.rss() - heap.total_physical_size),
    memoryMax,
  }
}

const YOUNG_SPACES: ReadonlySet<string> = new Set(['new_space', 'new_large_object_space'])

/**
 * Size of the old generation. A full old generation means a full heap, because young objects are
 * promoted into it.
 */
function oldGenerationBytes(): number {
  return getHeapSpaceStatistics()
    .filter(({ space_name }) => !YOUNG_SPACES.has(space_name))
    .reduce((sum, { space_used_size }) => sum + space_used_size, 0)
}

const SEMI_SPACE_MEGABYTES_DEFAULT = 16
const SEMI_SPACES = 3

/** The share of the young generation in the heap limit. */
function youngGenerationBytesMax(): number {
  const flags = [...process.execArgv, process.env['NODE_OPTIONS'] ?? ''].join(' ')
  const given = /--max-semi-space-size=(\d+)/.exec(flags)?.[1]
  return SEMI_SPACES * Number(given ?? SEMI_SPACE_MEGABYTES_DEFAULT) * MEGABYTE
}
