/** A set-up step failed in a way the user can act on: printed without a stack. */
export class SetUpFailure extends Error {
  name = 'SetUpFailure'
}
