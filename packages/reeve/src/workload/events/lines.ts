import type { Commit, EventRef } from '../../state/index.ts'
import { payloadJson } from './payload.ts'

/** A commit whose events are encoded at most once, for all readers. */
export class EncodedCommit {
  readonly commit: Commit
  readonly #eventJson: (string | undefined)[] = []

  constructor(commit: Commit) {
    this.commit = commit
  }

  /** Returns the NDJSON line with the events that `wants` matches; undefined if there are none. */
  renderLine(matches: (event: EventRef) => boolean): string | undefined {
    const { events, index } = this.commit
    const selected: string[] = []
    events.forEach((event, i) => {
      if (matches(event)) selected.push((this.#eventJson[i] ??= this.#render(event)))
    })
    return selected.length === 0
      ? undefined
      : `{"Index":${index},"Events":[${selected.join(',')}]}\n`
  }

  #render({ row, ...event }: EventRef): string {
    const head = JSON.stringify({ ...event, Index: this.commit.index })
    return `${head.slice(0, -1)},"Payload":${payloadJson(this.commit, event.Topic, row)}}`
  }
}

/** The heartbeat. */
export const HEARTBEAT = '{}\n'

/**
 * Line that reports commits between two indexes (both included) that are no longer available, so
 * that no gap is silent.
 */
export function gapLine(fromIndex: number, toIndex: number): string {
  return `${JSON.stringify({ Index: toIndex, Events: [], Gap: { From: fromIndex, To: toIndex } })}\n`
}

/**
 * Last line of a stream that the server closes. As in every line, all commits up to its index have
 * been delivered, so a reader resumes at the next one.
 */
export function closingLine(reason: string, deliveredIndex: number): string {
  return `${JSON.stringify({ Index: deliveredIndex, Events: [], Closed: reason })}\n`
}
