/**
 * The result of an operation that may be refused. A refusal is a value; faults and bugs are thrown.
 */
export type Result<T, E> = Ok<T> | Err<E>
export interface Ok<T> {
  readonly ok: true
  readonly value: T
}
export interface Err<E> {
  readonly ok: false
  readonly error: E
}

export function ok<T>(value: T): Ok<T> {
  return { ok: true, value }
}

export function err<E>(error: E): Err<E> {
  return { ok: false, error }
}
