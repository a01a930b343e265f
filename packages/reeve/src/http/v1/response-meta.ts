/** What the headers say, repeated in the bodies that the peers flatten it into. */
export function responseMeta(index: number) {
  return { Index: index, LastContact: 0, KnownLeader: true, NextToken: '' } as const
}
