/** A file of the database is not what was written. Carries where, so that an operator can look. */
export class Damage extends Error {
  override readonly name: string = 'Damage'
  readonly offset: number

  constructor(offset: number, what: string) {
    super(what)
    this.offset = offset
  }
}
