/** Returns the metadata of the headers, for the responses whose body includes it. */
export function responseMeta(index: number) {
  return { Index: index, LastContact: 0, KnownLeader: true, NextToken: '' } as const
}
