/** A template that cannot be read or rendered; the text says where and why. */
export class TemplateError extends Error {
  override readonly name = 'TemplateError'
}

/** Ends a rendering from wherever it is; becomes a TemplateError with its place. */
export function fail(message: string): never {
  throw new TemplateError(message)
}
