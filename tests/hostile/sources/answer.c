/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include "speed.h"
int main(void) { printf("speed %d\n", SPEED); }
