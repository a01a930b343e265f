import type { Commit, EventMark } from '../../state/index.ts'
import { payloadText } from './payload.ts'

/** A commit whose events are made into text at most once, however many readers want them. */
export class StreamedCommit {
  readonly commit: Commit
  readonly #texts: (string | undefined)[] = []

  constructor(commit: Commit) {
    this.commit = commit
  }

  /** The ndjson line with the events that `wants` keeps; undefined when it keeps none. */
  line(wants: (event: EventMark) => boolean): string | undefined {
    const { events, index } = this.commit
    const kept: string[] = []
    events.forEach((event, i) => {
      if (wants(event)) kept.push((this.#texts[i] ??= this.#render(event)))
    })
    return kept.length === 0 ? undefined : `{"Index":${index},"Events":[${kept.join(',')}]}\n`
  }

  #render({ row, ...mark }: EventMark): string {
    const head = JSON.stringify({ ...mark, Index: this.commit.index })
    return `${head.slice(0, -1)},"Payload":${payloadText(this.commit, mark.Topic, row)}}`
  }
}

/** The heartbeat. */
export const HEARTBEAT = '{}\n'

/**
 * Says that commits between the two indexes (both included) can no longer be had. Never a silent
 * gap.
 */
export function gapLine(fromIndex: number, toIndex: number): string {
  return `${JSON.stringify({ Index: toIndex, Events: [], Gap: { From: fromIndex, To: toIndex } })}\n`
}

/**
 * The last line of a stream that the server ends. Its index means what that of every line means:
 * all commits up to it were delivered, so a reader resumes at the one behind it.
 */
export function closingLine(reason: string, deliveredIndex: number): string {
  return `${JSON.stringify({ Index: deliveredIndex, Events: [], Closed: reason })}\n`
}
