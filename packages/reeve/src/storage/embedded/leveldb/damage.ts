/** A LevelDB file has invalid content at this offset. */
export class CorruptFileError extends Error {
  override readonly name: string = 'Damage'
  readonly offset: number

  constructor(offset: number, what: string) {
    super(what)
    this.offset = offset
  }
}
